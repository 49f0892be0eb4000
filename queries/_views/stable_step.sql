-- stable_step: the training steps, and whether each belongs to the stable ones.
--
-- Stable steps begin with the first step s where the median of the k steps from s and
-- the median of all later ones differ by less than 5 % and the median absolute
-- deviation of all from s is less than 5 % of their median; k is 5 or a tenth of the
-- steps, whichever is more. With fewer than 2 k steps, or without such an s, all
-- steps count and `flagged` says so.
--
-- reads:
--   step  lookup

WITH
    numbered AS (
        SELECT
            *,
            end_ns - start_ns AS duration_ns,
            row_number() OVER (PARTITION BY process_id ORDER BY start_ns, end_ns)
                AS place,
            count(*) OVER (PARTITION BY process_id) AS steps
        FROM recorded.step
    ),
    sized AS (
        SELECT
            *,
            greatest(5, ceil(steps / 10.0))::BIGINT AS needed
        FROM numbered
    ),
    candidate AS (
        SELECT
            process_id,
            place,
            needed,
            steps
        FROM sized
        WHERE place + 2 * needed - 1 <= steps
    ),
    judged AS (
        SELECT
            candidate.process_id,
            candidate.place,
            median(sized.duration_ns)
            FILTER (WHERE sized.place < candidate.place + candidate.needed)
                AS early_ns,
            median(sized.duration_ns)
            FILTER (WHERE sized.place >= candidate.place + candidate.needed)
                AS late_ns,
            median(sized.duration_ns) AS middle_ns,
            mad(sized.duration_ns) AS deviation_ns
        FROM candidate
        INNER JOIN sized
            ON
                candidate.process_id IS NOT DISTINCT FROM sized.process_id
                AND candidate.place <= sized.place
        GROUP BY candidate.process_id, candidate.place
    ),
    first_stable AS (
        SELECT
            process_id,
            min(place) AS place
        FROM judged
        WHERE
            abs(early_ns - late_ns) < 0.05 * late_ns
            AND deviation_ns < 0.05 * middle_ns
        GROUP BY process_id
    )

SELECT
    sized.step_index,
    sized.process_id,
    sized.name,
    sized.start_ns,
    sized.end_ns,
    sized.samples,
    sized.unit,
    sized.source,
    coalesce(sized.place >= first_stable.place, TRUE) AS stable,
    first_stable.place IS NULL AS flagged
FROM sized
LEFT JOIN first_stable
    ON sized.process_id IS NOT DISTINCT FROM first_stable.process_id;
