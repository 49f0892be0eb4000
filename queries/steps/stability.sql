-- steps.stability: which training steps are stable, and how much they vary.
--
-- Stable steps begin with the first step s where the median of the k steps from s and
-- the median of all later ones differ by less than 5 % and the median absolute
-- deviation (MAD) of all from s is less than 5 % of their median; k is 5 or a tenth of
-- the steps, whichever is more. With fewer than 2 k steps, or without such an s, all
-- count as stable and `flagged` says so. All steps of a process are judged, whatever
-- the window. Throughput is the samples of the stable steps over the time from the
-- start of the first to the end of the last of them.
--
-- reads:
--   stable_step  rows
-- needs:
--   step
-- columns:
--   process_id          INTEGER  The process, as in the process table.
--   steps               BIGINT   Its steps.
--   stable_steps        BIGINT   Those that are stable.
--   flagged             BOOLEAN  Whether all are used because none could be chosen.
--   first_stable_index  BIGINT   Number of the first stable step.
--   warm_up_ns          BIGINT   From the first step's start to the first stable one's.
--   median_ns           DOUBLE   Median duration of the stable steps.
--   mad_ns              DOUBLE   Its median absolute deviation.
--   mad_share           DOUBLE   mad_ns over median_ns.
--   min_ns              BIGINT   Shortest stable step.
--   max_ns              BIGINT   Longest stable step.
--   slowest_index       BIGINT   Number of the longest stable step.
--   between_ns          BIGINT   Time between stable steps, in none of them.
--   samples             DOUBLE   Samples of the stable steps; NULL where one has none
--                                recorded.
--   unit                VARCHAR  What a sample is.
--   samples_per_second  DOUBLE   Throughput over the stable steps.

WITH
    asked AS (
        SELECT DISTINCT process_id
        FROM stable_step
    ),
    judged AS (
        SELECT
            every.*,
            every.end_ns - every.start_ns AS duration_ns
        FROM recorded.stable_step AS every
        SEMI JOIN asked ON every.process_id IS NOT DISTINCT FROM asked.process_id
    ),
    per_process AS (
        SELECT
            process_id,
            count(*) AS steps,
            count(*) FILTER (WHERE stable) AS stable_steps,
            bool_or(flagged) AS flagged,
            arg_min(step_index, (start_ns, end_ns)) FILTER (WHERE stable)
                AS first_stable_index,
            min(start_ns) AS first_ns,
            min(start_ns) FILTER (WHERE stable) AS stable_from_ns,
            max(end_ns) FILTER (WHERE stable) AS stable_to_ns,
            median(duration_ns) FILTER (WHERE stable) AS median_ns,
            mad(duration_ns) FILTER (WHERE stable) AS mad_ns,
            min(duration_ns) FILTER (WHERE stable) AS min_ns,
            max(duration_ns) FILTER (WHERE stable) AS max_ns,
            arg_max(step_index, (duration_ns, -start_ns)) FILTER (WHERE stable)
                AS slowest_index,
            sum(duration_ns) FILTER (WHERE stable) AS inside_ns,
            CASE
                WHEN bool_and(samples IS NOT NULL) FILTER (WHERE stable)
                    THEN sum(samples) FILTER (WHERE stable)
            END AS samples,
            min(unit) FILTER (WHERE stable) AS unit
        FROM judged
        GROUP BY process_id
    )

SELECT
    process_id,
    steps,
    stable_steps,
    flagged,
    first_stable_index,
    stable_from_ns - first_ns AS warm_up_ns,
    median_ns::DOUBLE AS median_ns,
    mad_ns::DOUBLE AS mad_ns,
    mad_ns / nullif(median_ns, 0) AS mad_share,
    min_ns,
    max_ns,
    slowest_index,
    (stable_to_ns - stable_from_ns - inside_ns)::BIGINT AS between_ns,
    samples,
    unit,
    samples * 1e9 / nullif(stable_to_ns - stable_from_ns, 0) AS samples_per_second
FROM per_process
ORDER BY process_id ASC;
