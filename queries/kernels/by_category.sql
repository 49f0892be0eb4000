-- kernels.by_category: where kernel time goes, by what kernels do.
--
-- A kernel is what the first rule says that matches its canonical name: a hint from the
-- name, no measurement. Rules and examples are in queries/_rules/kernel_category.csv.
-- Times are summed over launches, so kernels that ran at once count twice.
--
-- reads:
--   kernel  rows
-- columns:
--   device_id     INTEGER  The device, as in the device table.
--   category      VARCHAR  gemm, convolution, normalization, attention, pointwise,
--                          reduction, copy, communication, optimizer, ... or other.
--   kernels       BIGINT   Different kernels, by canonical name.
--   launches      BIGINT   Launches that were counted.
--   total_ns      BIGINT   Summed duration.
--   time_share    DOUBLE   total_ns over that of all kernels of the device, 0 to 1.
--   mean_ns       DOUBLE   Mean duration.
--   median_ns     DOUBLE   Median duration.
--   top_kernel    VARCHAR  The kernel that took most of it.
--   top_total_ns  BIGINT   Its summed duration.

WITH
    named AS (
        SELECT
            device_id,
            coalesce(canonical_name, name) AS kernel_name,
            end_ns - start_ns AS duration_ns
        FROM kernel
    ),
    kernel_name AS (
        SELECT DISTINCT kernel_name
        FROM named
    ),
    ruled AS (
        SELECT
            kernel_name,
            coalesce(kernel_category(kernel_name), 'other') AS category
        FROM kernel_name
    ),
    judged AS (
        SELECT
            named.device_id,
            named.kernel_name,
            named.duration_ns,
            ruled.category
        FROM named
        INNER JOIN ruled ON named.kernel_name IS NOT DISTINCT FROM ruled.kernel_name
    ),
    per_kernel AS (
        SELECT
            device_id,
            category,
            kernel_name,
            sum(duration_ns)::BIGINT AS total_ns
        FROM judged
        GROUP BY device_id, category, kernel_name
    ),
    top AS (
        SELECT
            device_id,
            category,
            count(*) AS kernels,
            arg_min(kernel_name, (-total_ns, kernel_name)) AS top_kernel,
            max(total_ns) AS top_total_ns
        FROM per_kernel
        GROUP BY device_id, category
    ),
    per_category AS (
        SELECT
            device_id,
            category,
            count(*) AS launches,
            sum(duration_ns)::BIGINT AS total_ns,
            avg(duration_ns) AS mean_ns,
            median(duration_ns) AS median_ns
        FROM judged
        GROUP BY device_id, category
    )

SELECT
    per_category.device_id,
    per_category.category,
    top.kernels,
    per_category.launches,
    per_category.total_ns,
    per_category.total_ns
    / nullif(sum(per_category.total_ns) OVER (PARTITION BY per_category.device_id), 0)
        AS time_share,
    per_category.mean_ns,
    per_category.median_ns,
    top.top_kernel,
    top.top_total_ns
FROM per_category
INNER JOIN top
    ON
        per_category.device_id IS NOT DISTINCT FROM top.device_id
        AND per_category.category = top.category
ORDER BY
    per_category.total_ns DESC, per_category.device_id ASC, per_category.category ASC;
