-- steps.detect: training iterations found from the repetition of kernels alone.
--
-- Needs no annotation. On the stream of each process and device that has the most
-- kernels, a kernel (with its grid) that comes back after the same number of kernels
-- again and again marks iterations. Of the distances that at least `min_steps`
-- iterations share, that cover half of the stream or more and that not only a few
-- kernels have, the longest is taken: a shorter one is a layer. Of the kernels with
-- that distance the first one, with those before it that repeat, begins an iteration.
-- `confidence` is the share of the stream's kernels that stand, with their grid, at
-- that distance before or behind, too. Where the iterations differ much nothing is
-- found, and where in a loop an iteration begins the kernels do not tell. One that was
-- not recorded to its end is left out. Compare with steps.summary where steps were
-- annotated: they begin on the host, and earlier.
--
-- reads:
--   kernel  rows
-- needs:
--   kernel
-- parameters:
--   min_steps  BIGINT = 3   Iterations that must be there.
-- columns:
--   process_id       INTEGER  The process, as in the process table.
--   device_id        INTEGER  The device, as in the device table.
--   stream_id        BIGINT   Stream whose kernels were looked at.
--   step             BIGINT   Number of the iteration, from 0.
--   start_ns         BIGINT   When its first kernel began.
--   end_ns           BIGINT   When the next iteration begins; where none follows, the
--                             end of its last kernel.
--   duration_ns      BIGINT   end_ns less start_ns.
--   kernels          BIGINT   Kernels of an iteration on that stream.
--   first_kernel     VARCHAR  Kernel that begins it.
--   confidence       DOUBLE   Share of the stream that repeats, 0 to 1.

WITH
    streamed AS (
        SELECT
            coalesce(process_id, -1) AS owner,
            process_id,
            device_id,
            coalesce(context_id, -1) AS context,
            coalesce(stream_id, -1) AS stream,
            stream_id,
            start_ns,
            end_ns,
            kernel_id,
            name,
            hash(name, grid_x, grid_y, grid_z) AS mark
        FROM kernel
    ),
    crowd AS (
        SELECT
            owner,
            device_id,
            context,
            stream,
            count(*) AS total,
            row_number() OVER (
                PARTITION BY owner, device_id
                ORDER BY count(*) DESC, context ASC, stream ASC
            ) AS place
        FROM streamed
        GROUP BY owner, device_id, context, stream
    ),
    numbered AS (
        SELECT
            streamed.*,
            crowd.total,
            row_number() OVER (
                PARTITION BY streamed.owner, streamed.device_id
                ORDER BY streamed.start_ns, streamed.end_ns, streamed.kernel_id
            ) AS place
        FROM streamed
        INNER JOIN crowd
            ON
                streamed.owner = crowd.owner
                AND streamed.device_id = crowd.device_id
                AND streamed.context = crowd.context
                AND streamed.stream = crowd.stream
                AND crowd.place = 1
    ),
    distance AS (
        SELECT
            owner,
            device_id,
            mark,
            place,
            total,
            lead(place) OVER (PARTITION BY owner, device_id, mark ORDER BY place)
            - place AS period
        FROM numbered
    ),
    -- Kernels that come back at one distance, most of the time.
    recurring AS (
        SELECT
            owner,
            device_id,
            mark,
            mode(period) AS period,
            count(period) AS returns
        FROM distance
        GROUP BY owner, device_id, mark
        HAVING count(*) >= $min_steps::BIGINT
    ),
    candidate AS (
        SELECT
            recurring.owner,
            recurring.device_id,
            recurring.mark,
            recurring.period,
            any_value(distance.total) AS total,
            min(distance.place) AS first_place,
            count(*) AS agreed
        FROM recurring
        INNER JOIN distance
            ON
                recurring.owner = distance.owner
                AND recurring.device_id = distance.device_id
                AND recurring.mark = distance.mark
                AND recurring.period = distance.period
        GROUP BY
            recurring.owner, recurring.device_id, recurring.mark, recurring.period
        HAVING
            count(*) >= 0.8 * any_value(recurring.returns)
            AND count(*) + 1 >= $min_steps::BIGINT
            AND recurring.period * (count(*) + 1) >= 0.5 * any_value(distance.total)
    ),
    supported AS (
        SELECT
            owner,
            device_id,
            period,
            count(*) AS kernels
        FROM candidate
        GROUP BY owner, device_id, period
    ),
    -- What few kernels do is done in every second iteration, say.
    usual AS (
        SELECT
            owner,
            device_id,
            max(kernels) AS kernels
        FROM supported
        GROUP BY owner, device_id
    ),
    longest AS (
        SELECT
            supported.owner,
            supported.device_id,
            max(supported.period) AS period
        FROM supported
        INNER JOIN usual
            ON
                supported.owner = usual.owner
                AND supported.device_id = usual.device_id
                AND supported.kernels >= 0.1 * usual.kernels
        GROUP BY supported.owner, supported.device_id
    ),
    chosen AS (
        SELECT
            candidate.owner,
            candidate.device_id,
            candidate.period,
            candidate.total,
            min(candidate.first_place) AS first_place,
            arg_min(candidate.mark, candidate.first_place) AS mark
        FROM candidate
        INNER JOIN longest
            ON
                candidate.owner = longest.owner
                AND candidate.device_id = longest.device_id
                AND candidate.period = longest.period
        GROUP BY
            candidate.owner, candidate.device_id, candidate.period, candidate.total
    ),
    expected AS (
        SELECT
            numbered.owner,
            numbered.device_id,
            numbered.mark,
            numbered.place,
            numbered.place + chosen.period AS next_place
        FROM numbered
        INNER JOIN chosen
            ON
                numbered.owner = chosen.owner
                AND numbered.device_id = chosen.device_id
    ),
    repeated AS (
        SELECT
            expected.owner,
            expected.device_id,
            expected.place,
            expected.next_place
        FROM expected
        INNER JOIN numbered
            ON
                expected.owner = numbered.owner
                AND expected.device_id = numbered.device_id
                AND expected.mark = numbered.mark
                AND expected.next_place = numbered.place
    ),
    -- Kernels before the one that was chosen belong to the iteration where they repeat,
    -- too; they only come more than once in it.
    lonely AS (
        SELECT
            expected.owner,
            expected.device_id,
            max(expected.place) AS place
        FROM expected
        INNER JOIN chosen
            ON
                expected.owner = chosen.owner
                AND expected.device_id = chosen.device_id
                AND expected.place < chosen.first_place
        ANTI JOIN repeated
            ON
                expected.owner = repeated.owner
                AND expected.device_id = repeated.device_id
                AND expected.place = repeated.place
        GROUP BY expected.owner, expected.device_id
    ),
    anchor AS (
        SELECT
            chosen.owner,
            chosen.device_id,
            chosen.mark,
            chosen.period,
            least(
                chosen.first_place - coalesce(lonely.place, 0) - 1, chosen.period - 1
            ) AS shift
        FROM chosen
        LEFT JOIN lonely
            ON
                chosen.owner = lonely.owner
                AND chosen.device_id = lonely.device_id
    ),
    met AS (
        SELECT
            numbered.owner,
            numbered.device_id,
            numbered.total,
            anchor.period,
            numbered.place - anchor.shift AS first_place,
            lead(numbered.place) OVER following - numbered.place AS length,
            numbered.place - lag(numbered.place) OVER following AS length_before
        FROM numbered
        INNER JOIN anchor
            ON
                numbered.owner = anchor.owner
                AND numbered.device_id = anchor.device_id
                AND numbered.mark = anchor.mark
        WINDOW
            following AS (
                PARTITION BY numbered.owner, numbered.device_id
                ORDER BY numbered.place
            )
    ),
    begun AS (
        SELECT
            owner,
            device_id,
            period,
            first_place,
            first_place + period - 1 AS last_place,
            CASE WHEN length = period THEN first_place + period END AS next_place,
            row_number() OVER (PARTITION BY owner, device_id ORDER BY first_place) - 1
                AS step
        FROM met
        WHERE
            first_place >= 1
            AND (
                length = period
                OR (length_before = period AND first_place + period - 1 <= total)
            )
    ),
    ended AS (
        SELECT
            begun.owner,
            begun.device_id,
            begun.step,
            max(numbered.end_ns) AS end_ns
        FROM begun
        INNER JOIN numbered
            ON
                begun.owner = numbered.owner
                AND begun.device_id = numbered.device_id
                AND begun.first_place <= numbered.place
                AND begun.last_place >= numbered.place
        WHERE begun.next_place IS NULL
        GROUP BY begun.owner, begun.device_id, begun.step
    ),
    held AS (
        SELECT
            owner,
            device_id,
            unnest([place, next_place]) AS place
        FROM repeated
    ),
    trusted AS (
        SELECT
            chosen.owner,
            chosen.device_id,
            count(DISTINCT held.place) / any_value(chosen.total) AS confidence
        FROM chosen
        LEFT JOIN held
            ON
                chosen.owner = held.owner
                AND chosen.device_id = held.device_id
        GROUP BY chosen.owner, chosen.device_id
    )

SELECT
    first.process_id,
    first.device_id,
    first.stream_id,
    begun.step,
    first.start_ns,
    coalesce(ended.end_ns, following.start_ns) AS end_ns,
    coalesce(ended.end_ns, following.start_ns) - first.start_ns AS duration_ns,
    begun.period AS kernels,
    first.name AS first_kernel,
    trusted.confidence
FROM begun
INNER JOIN numbered AS first
    ON
        begun.owner = first.owner
        AND begun.device_id = first.device_id
        AND begun.first_place = first.place
INNER JOIN trusted
    ON begun.owner = trusted.owner AND begun.device_id = trusted.device_id
LEFT JOIN numbered AS following
    ON
        begun.owner = following.owner
        AND begun.device_id = following.device_id
        AND begun.next_place = following.place
LEFT JOIN ended
    ON
        begun.owner = ended.owner
        AND begun.device_id = ended.device_id
        AND begun.step = ended.step
ORDER BY first.process_id ASC, first.device_id ASC, begun.step ASC;
