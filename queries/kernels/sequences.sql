-- kernels.sequences: kernels that follow each other again and again.
--
-- Sequences of `length` kernels in a row in a stream, as candidates for fusion: what
-- they run, and the time between them that fusing would save, too. Occurrences may
-- overlap: a kernel that runs four times in a row holds two sequences of three. The
-- most frequent come first.
--
-- reads:
--   kernel  rows
-- parameters:
--   length     BIGINT = 3           Kernels in a sequence, 2 to 5.
--   min_count  BIGINT = 2           Leave out what occurs less often.
--   limit      BIGINT = 20          Rows to return, 0 for all.
--   names      VARCHAR = short      One of recorded, canonical or short: how kernels
--                                   are told apart.
-- columns:
--   device_id    INTEGER  The device, as in the device table.
--   kernels      VARCHAR  The kernels, in order, with ` > ` between them.
--   occurrences  BIGINT   How often they follow each other.
--   kernel_ns    BIGINT   Summed durations of their kernels.
--   gap_ns       BIGINT   Summed time between them in which none of them ran.
--   span_ns      BIGINT   Summed time from first start to last end.
--   mean_ns      DOUBLE   Mean duration of one of the kernels.

WITH
    named AS (
        SELECT
            process_id,
            device_id,
            context_id,
            stream_id,
            start_ns,
            end_ns,
            kernel_id,
            CASE $names
                WHEN 'canonical' THEN canonical_name
                WHEN 'short' THEN short_name
                ELSE name
            END AS kernel_name
        FROM kernel
    ),
    kernel_name AS (
        SELECT
            kernel_name,
            row_number() OVER (ORDER BY kernel_name)::INTEGER AS id
        FROM named
        GROUP BY kernel_name
    ),
    numbered AS (
        SELECT
            named.process_id,
            named.device_id,
            named.context_id,
            named.stream_id,
            named.start_ns,
            named.end_ns,
            named.kernel_id,
            kernel_name.id
        FROM named
        INNER JOIN kernel_name
            ON named.kernel_name IS NOT DISTINCT FROM kernel_name.kernel_name
    ),
    followed AS (
        SELECT
            device_id,
            id AS id_1,
            start_ns,
            end_ns AS end_1,
            lead(id, 1) OVER stream AS id_2,
            lead(start_ns, 1) OVER stream AS start_2,
            lead(end_ns, 1) OVER stream AS end_2,
            lead(id, 2) OVER stream AS id_3,
            lead(start_ns, 2) OVER stream AS start_3,
            lead(end_ns, 2) OVER stream AS end_3,
            lead(id, 3) OVER stream AS id_4,
            lead(start_ns, 3) OVER stream AS start_4,
            lead(end_ns, 3) OVER stream AS end_4,
            lead(id, 4) OVER stream AS id_5,
            lead(start_ns, 4) OVER stream AS start_5,
            lead(end_ns, 4) OVER stream AS end_5
        FROM numbered
        WINDOW
            stream AS (
                PARTITION BY process_id, device_id, context_id, stream_id
                ORDER BY start_ns, end_ns, kernel_id
            )
    ),
    -- What lies beyond the length is NULL, and adds nothing below.
    cropped AS (
        SELECT
            device_id,
            id_1,
            id_2,
            start_ns,
            end_1,
            start_2,
            end_2,
            CASE WHEN $length >= 3 THEN id_3 END AS id_3,
            CASE WHEN $length >= 3 THEN start_3 END AS start_3,
            CASE WHEN $length >= 3 THEN end_3 END AS end_3,
            CASE WHEN $length >= 4 THEN id_4 END AS id_4,
            CASE WHEN $length >= 4 THEN start_4 END AS start_4,
            CASE WHEN $length >= 4 THEN end_4 END AS end_4,
            CASE WHEN $length >= 5 THEN id_5 END AS id_5,
            CASE WHEN $length >= 5 THEN start_5 END AS start_5,
            CASE WHEN $length >= 5 THEN end_5 END AS end_5
        FROM followed
        WHERE
            CASE $length
                WHEN 2 THEN id_2
                WHEN 3 THEN id_3
                WHEN 4 THEN id_4
                ELSE id_5
            END IS NOT NULL
    ),
    timed AS (
        SELECT
            device_id,
            id_1,
            id_2,
            id_3,
            id_4,
            id_5,
            end_1 - start_ns + end_2 - start_2 + coalesce(end_3 - start_3, 0)
            + coalesce(end_4 - start_4, 0) + coalesce(end_5 - start_5, 0) AS kernel_ns,
            greatest(start_2 - end_1, 0)
            + coalesce(greatest(start_3 - greatest(end_1, end_2), 0), 0)
            + coalesce(greatest(start_4 - greatest(end_1, end_2, end_3), 0), 0)
            + coalesce(greatest(start_5 - greatest(end_1, end_2, end_3, end_4), 0), 0)
                AS gap_ns,
            greatest(end_1, end_2, end_3, end_4, end_5) - start_ns AS span_ns
        FROM cropped
    ),
    counted AS (
        SELECT
            device_id,
            id_1,
            id_2,
            id_3,
            id_4,
            id_5,
            count(*) AS occurrences,
            sum(kernel_ns)::BIGINT AS kernel_ns,
            sum(gap_ns)::BIGINT AS gap_ns,
            sum(span_ns)::BIGINT AS span_ns
        FROM timed
        GROUP BY device_id, id_1, id_2, id_3, id_4, id_5
        HAVING count(*) >= $min_count
        ORDER BY
            occurrences DESC, span_ns DESC, device_id ASC, id_1 ASC, id_2 ASC,
            id_3 ASC, id_4 ASC, id_5 ASC
        LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END
    )

SELECT
    counted.device_id,
    concat_ws(
        ' > ', first.kernel_name, second.kernel_name, third.kernel_name,
        fourth.kernel_name, fifth.kernel_name
    ) AS kernels,
    counted.occurrences,
    counted.kernel_ns,
    counted.gap_ns,
    counted.span_ns,
    counted.kernel_ns / (counted.occurrences * least(greatest($length, 2), 5))
        AS mean_ns
FROM counted
LEFT JOIN kernel_name AS first ON counted.id_1 = first.id
LEFT JOIN kernel_name AS second ON counted.id_2 = second.id
LEFT JOIN kernel_name AS third ON counted.id_3 = third.id
LEFT JOIN kernel_name AS fourth ON counted.id_4 = fourth.id
LEFT JOIN kernel_name AS fifth ON counted.id_5 = fifth.id
ORDER BY
    counted.occurrences DESC, counted.span_ns DESC, counted.device_id ASC, kernels ASC;
