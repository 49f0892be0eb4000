-- operators.kernels: which kernels each framework operator launched.
--
-- A kernel belongs to the innermost operator in which its launch was called, on the
-- same thread; those launched outside of all operators have no operator_name, nor those
-- whose call was not recorded. Kernels count whole if they start in the window.
--
-- reads:
--   operator  lookup
--   launch    rows
-- needs:
--   kernel
-- parameters:
--   limit  BIGINT = 20    Rows to return, 0 for all.
-- columns:
--   operator_name  VARCHAR  The operator; NULL for none.
--   kernel_name    VARCHAR  The kernel.
--   launches       BIGINT   Executions that were counted.
--   total_ns       BIGINT   Their summed duration.
--   time_share     DOUBLE   total_ns over that of all kernels, 0 to 1.
--   operator_share  DOUBLE  total_ns over that of the operator's kernels, 0 to 1.

WITH
    numbered AS (
        SELECT
            process_id,
            thread_id,
            name,
            start_ns,
            end_ns,
            dense_rank() OVER (ORDER BY process_id, thread_id) AS key,
            row_number() OVER (ORDER BY start_ns ASC, end_ns DESC, operator_id ASC)
                AS place
        FROM operator
        WHERE end_ns IS NOT NULL
    ),
    thread_key AS (
        SELECT DISTINCT
            process_id,
            thread_id,
            key
        FROM numbered
    ),
    segment AS (FROM innermost_range('numbered')),
    called AS (
        SELECT
            thread_key.key,
            launch.name AS kernel_name,
            launch.call_start_ns,
            launch.end_ns - launch.start_ns AS kernel_ns
        FROM launch
        LEFT JOIN thread_key
            ON
                launch.process_id IS NOT DISTINCT FROM thread_key.process_id
                AND launch.thread_id IS NOT DISTINCT FROM thread_key.thread_id
        WHERE launch.activity = 'kernel'
    ),
    placed AS (
        SELECT
            called.kernel_name,
            called.kernel_ns,
            segment.place
        FROM called
        ASOF LEFT JOIN segment
            ON called.key = segment.key AND called.call_start_ns >= segment.at_ns
    ),
    per_pair AS (
        SELECT
            numbered.name AS operator_name,
            placed.kernel_name,
            count(*) AS launches,
            sum(placed.kernel_ns)::BIGINT AS total_ns
        FROM placed
        LEFT JOIN numbered ON placed.place = numbered.place
        GROUP BY numbered.name, placed.kernel_name
    )

SELECT
    operator_name,
    kernel_name,
    launches,
    total_ns,
    total_ns / nullif(sum(total_ns) OVER (), 0) AS time_share,
    total_ns / nullif(sum(total_ns) OVER (PARTITION BY operator_name), 0)
        AS operator_share
FROM per_pair
ORDER BY total_ns DESC, operator_name ASC, kernel_name ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
