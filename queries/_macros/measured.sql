-- The measured kernels of a query: those of its window on the timeline; where the run
-- has no timeline, all launches that were measured, with the durations that the
-- counter tool saw. Takes the names of tables or CTEs: `counters` like kernel_counter,
-- `kernels` like kernel and `every` like kernel, but of any time.
CREATE MACRO measured_kernel(counters, kernels, every) AS TABLE (
    WITH
        counter AS (FROM query_table(counters)),
        ran AS (FROM query_table(kernels)),
        recorded_kernel AS (FROM query_table(every)),
        placed AS (
            SELECT
                kernel_id,
                device_id,
                name AS kernel_name,
                start_ns,
                end_ns,
                (end_ns - start_ns)::double AS kernel_ns
            FROM ran
        ),
        matched AS (
            SELECT
                placed.* EXCLUDE (kernel_id), -- noqa: RF02
                counter.* EXCLUDE (device_id, kernel_name) -- noqa: RF02
            FROM counter
            INNER JOIN placed ON counter.kernel_id = placed.kernel_id
        ),
        alone AS (
            SELECT
                *, -- noqa: AM04
                duration_ns AS kernel_ns
            FROM counter
            WHERE kernel_id IS NULL AND NOT EXISTS (FROM recorded_kernel)
        )

    SELECT * FROM matched -- noqa: AM04
    UNION ALL BY NAME
    SELECT * FROM alone -- noqa: AM04
);
