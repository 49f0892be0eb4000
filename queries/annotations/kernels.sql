-- annotations.kernels: which kernels were launched in which annotated range.
--
-- A kernel belongs to the range that is open on the thread that launched it. With
-- ranges = innermost it counts once, in the push_pop range that began last before its
-- API call; with ranges = enclosing it counts in each push_pop range that contains the
-- API call as a whole, so sums over ranges count it more than once. Kernels outside of
-- all ranges have rows without a range. Kernels whose call was not recorded are left
-- out (quality.capture counts them), and so are kernels inside of CUDA graphs that were
-- traced as a whole. Ranges count whole, wherever the window ends. Equals `nsys stats`
-- nvtx_kern_sum with ranges = enclosing and limit = 0.
--
-- reads:
--   kernel       rows
--   launch_call  lookup
--   annotation   lookup
-- needs:
--   kernel
--   api_call
-- parameters:
--   limit   BIGINT = 20           Rows to return, 0 for all.
--   ranges  VARCHAR = innermost   One of innermost or enclosing: the ranges in which a
--                                 kernel counts.
--   names   VARCHAR = recorded    One of recorded, canonical or short: how kernels
--                                 are told apart.
-- columns:
--   range_name   VARCHAR  Domain, a colon, text; NULL outside of all ranges.
--   kind         VARCHAR  push_pop; NULL outside of all ranges.
--   process_id   INTEGER  The process, as in the process table.
--   thread_id    INTEGER  Thread that launched the kernels, as in the thread table.
--   kernel_name  VARCHAR  The kernel.
--   instances    BIGINT   Ranges in which such a kernel was launched.
--   launches     BIGINT   Kernels that were counted.
--   total_ns     BIGINT   Summed duration of the kernels.
--   mean_ns      DOUBLE   Mean duration.
--   median_ns    DOUBLE   Median duration.
--   min_ns       BIGINT   Shortest duration.
--   max_ns       BIGINT   Longest duration.
--   stddev_ns    DOUBLE   Sample standard deviation (n - 1), 0 for one.

WITH RECURSIVE
    -- Named in text below.
    nesting AS NOT MATERIALIZED ( -- noqa: ST03
        SELECT *
        FROM annotation
        WHERE kind = 'push_pop'
    ),
    placed AS MATERIALIZED (
        SELECT
            place,
            process_id,
            thread_id,
            domain,
            text,
            start_ns,
            range_end(end_ns) AS end_ns
        FROM placed_ranges('nesting')
    ),
    stack AS MATERIALIZED (FROM range_stacks('placed')),
    stacked AS NOT MATERIALIZED (
        SELECT
            stack.key,
            stack.stacks,
            placed.*
        FROM placed
        INNER JOIN stack
            ON
                placed.process_id = stack.process_id
                AND placed.thread_id = stack.thread_id
                AND placed.domain IS NOT DISTINCT FROM stack.domain
    ),
    segment AS (FROM innermost_of_thread('placed')),
    nested AS MATERIALIZED (
        SELECT
            place,
            parent
        FROM nested_ranges('stacked')
        WHERE $ranges = 'enclosing'
    ),
    opened AS MATERIALIZED (
        SELECT
            process_id,
            thread_id,
            at_ns,
            place
        FROM open_ranges('placed')
        WHERE $ranges = 'enclosing'
    ),
    -- All ranges that are open when a range begins: in its own stack, and in the
    -- other stacks of its thread. Whatever encloses a call is among those that were
    -- open when the innermost range of the call began.
    enclosing (innermost, place) AS (
        SELECT
            place AS innermost,
            place
        FROM placed
        WHERE $ranges = 'enclosing'
        UNION
        SELECT
            stacked.place AS innermost,
            opened.place
        FROM stacked
        INNER JOIN opened
            ON
                stacked.process_id = opened.process_id
                AND stacked.thread_id = opened.thread_id
                AND stacked.start_ns = opened.at_ns
        WHERE stacked.stacks > 1 AND opened.place IS NOT NULL
        UNION
        SELECT
            enclosing.innermost,
            nested.parent AS place
        FROM enclosing
        INNER JOIN nested ON enclosing.place = nested.place
        WHERE nested.parent IS NOT NULL
    ),
    counted AS (
        SELECT
            enclosing.innermost,
            placed.place,
            placed.domain,
            placed.text,
            placed.end_ns
        FROM enclosing
        INNER JOIN placed ON enclosing.place = placed.place
        UNION ALL
        SELECT
            place AS innermost,
            place,
            domain,
            text,
            range_end(NULL) AS end_ns
        FROM placed
        WHERE $ranges = 'innermost'
    ),
    -- Long texts as numbers: the joins carry millions of rows.
    range_text AS MATERIALIZED (
        SELECT
            domain,
            text,
            (row_number() OVER ())::INTEGER AS range_number
        FROM (
            SELECT DISTINCT
                domain,
                text
            FROM placed
        ) AS distinct_text
    ),
    numbered AS NOT MATERIALIZED (
        SELECT
            counted.innermost,
            counted.place,
            counted.end_ns,
            range_text.range_number
        FROM counted
        INNER JOIN range_text
            ON
                counted.domain IS NOT DISTINCT FROM range_text.domain
                AND counted.text IS NOT DISTINCT FROM range_text.text
    ),
    kernel_text AS MATERIALIZED (
        SELECT
            kernel_name,
            (row_number() OVER ())::INTEGER AS kernel_number
        FROM (
            SELECT DISTINCT
                CASE $names
                    WHEN 'canonical' THEN canonical_name
                    WHEN 'short' THEN short_name
                    ELSE name
                END AS kernel_name
            FROM kernel
        ) AS distinct_name
    ),
    -- Calls find their ranges before kernels find their calls: a sort of calls is
    -- narrower than one of kernels.
    called AS (
        SELECT
            launch_call.process_id,
            launch_call.correlation_id,
            launch_call.thread_id,
            CASE $ranges WHEN 'enclosing' THEN launch_call.end_ns ELSE 0 END AS end_ns,
            segment.place AS innermost
        FROM launch_call
        ASOF LEFT JOIN segment
            ON
                launch_call.process_id = segment.process_id
                AND launch_call.thread_id = segment.thread_id
                AND launch_call.start_ns >= segment.at_ns
    ),
    begun AS (
        SELECT
            called.process_id,
            called.thread_id,
            called.end_ns AS call_end_ns,
            called.innermost,
            numbered_kernel.duration_ns,
            numbered_kernel.kernel_number
        FROM (
            SELECT
                kernel.process_id,
                kernel.correlation_id,
                kernel.end_ns - kernel.start_ns AS duration_ns,
                kernel_text.kernel_number
            FROM kernel
            INNER JOIN kernel_text
                ON
                    CASE $names
                        WHEN 'canonical' THEN kernel.canonical_name
                        WHEN 'short' THEN kernel.short_name
                        ELSE kernel.name
                    END IS NOT DISTINCT FROM kernel_text.kernel_name
        ) AS numbered_kernel
        INNER JOIN called
            ON
                numbered_kernel.process_id = called.process_id
                AND numbered_kernel.correlation_id = called.correlation_id
    ),
    per_name AS (
        SELECT
            begun.process_id,
            begun.thread_id,
            begun.kernel_number,
            numbered.range_number,
            count(DISTINCT numbered.place) AS instances,
            count(*) AS launches,
            sum(begun.duration_ns)::BIGINT AS total_ns,
            avg(begun.duration_ns) AS mean_ns,
            median(begun.duration_ns) AS median_ns,
            min(begun.duration_ns) AS min_ns,
            max(begun.duration_ns) AS max_ns,
            coalesce(stddev_samp(begun.duration_ns), 0) AS stddev_ns
        FROM begun
        LEFT JOIN numbered
            ON
                begun.innermost = numbered.innermost
                AND begun.call_end_ns <= numbered.end_ns
        GROUP BY ALL
    )

SELECT
    CASE
        WHEN per_name.range_number IS NOT NULL
            THEN range_name(range_text.domain, range_text.text)
    END AS range_name,
    CASE WHEN per_name.range_number IS NOT NULL THEN 'push_pop' END AS kind,
    per_name.process_id,
    per_name.thread_id,
    kernel_text.kernel_name,
    per_name.instances,
    per_name.launches,
    per_name.total_ns,
    per_name.mean_ns,
    per_name.median_ns,
    per_name.min_ns,
    per_name.max_ns,
    per_name.stddev_ns
FROM per_name
INNER JOIN kernel_text ON per_name.kernel_number = kernel_text.kernel_number
LEFT JOIN range_text ON per_name.range_number = range_text.range_number
ORDER BY
    per_name.total_ns DESC, range_name ASC, per_name.process_id ASC,
    per_name.thread_id ASC, kernel_text.kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
