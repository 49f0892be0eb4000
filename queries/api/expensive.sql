-- api.expensive: API calls that cost the host more than they need to.
--
-- A synchronous copy or fill makes the host wait for the GPU; an asynchronous copy
-- from or to pageable memory is staged and waits, too; allocating and freeing device
-- memory synchronizes, page-locking host memory and loading code take long. In a loop
-- each has a remedy: asynchronous calls, pinned memory, a caching allocator, a warm-up.
-- A call is counted under the first problem that it has. Where no steps were recorded
-- it is not known which calls are in the loop.
--
-- reads:
--   api_call     rows
--   memcpy       lookup
--   stable_step  lookup
-- needs:
--   api_call
-- columns:
--   problem         VARCHAR  synchronous_copy, pageable_copy, synchronous_fill,
--                            device_allocation, device_free, host_allocation or
--                            code_loading.
--   process_id      INTEGER  The process, as in the process table.
--   api_name        VARCHAR  The API function.
--   calls           BIGINT   Calls that were counted.
--   calls_in_steps  BIGINT   Those that began inside a training step; NULL where the
--                            process has no steps.
--   total_ns        BIGINT   Summed duration.
--   in_steps_ns     BIGINT   That of the calls inside steps.
--   mean_ns         DOUBLE   Mean duration.
--   max_ns          BIGINT   Longest call.
--   bytes           BIGINT   Bytes that its copies moved; NULL for other calls.

WITH
    copied AS (
        SELECT
            process_id,
            correlation_id,
            sum(bytes) AS bytes,
            bool_or(
                coalesce(source_memory_kind = 'pageable', FALSE)
                OR coalesce(destination_memory_kind = 'pageable', FALSE)
            ) AS is_pageable
        FROM memcpy
        WHERE correlation_id IS NOT NULL
        GROUP BY process_id, correlation_id
    ),
    called AS (
        SELECT DISTINCT name
        FROM api_call
    ),
    api_name AS (
        SELECT
            name,
            contains(name, 'Async') AS is_asynchronous,
            CASE
                WHEN regexp_matches(name, '^(cuda|cu|hip)Memcpy') THEN 'copy'
                WHEN regexp_matches(name, '^(cuda|cu|hip)Memset') THEN 'fill'
                WHEN
                    regexp_matches(name, 'MallocHost|HostAlloc|AllocHost|HostRegister')
                    THEN 'host_allocation'
                WHEN regexp_matches(name, '^(cuda|hip)Malloc|^cuMem(Alloc|Create)')
                    THEN 'device_allocation'
                WHEN regexp_matches(name, '^(cuda|hip)Free(_|$)|^cuMemFree(_|$)')
                    THEN 'device_free'
                WHEN regexp_matches(name, '^cu(Module|Library)Load|^hipModuleLoad')
                    THEN 'code_loading'
            END AS kind
        FROM called
    ),
    marked AS (
        SELECT
            coalesce(process_id, -1) AS owner,
            start_ns,
            end_ns
        FROM stable_step
        WHERE end_ns > start_ns
    ),
    stepping AS (
        SELECT DISTINCT owner
        FROM marked
    ),
    suspect AS (
        SELECT
            api_call.process_id,
            coalesce(api_call.process_id, -1) AS owner,
            api_call.name AS api_name,
            api_call.start_ns,
            api_call.end_ns,
            copied.bytes,
            CASE
                WHEN api_name.kind IN ('copy', 'fill') AND NOT api_name.is_asynchronous
                    THEN 'synchronous_' || api_name.kind
                WHEN api_name.kind = 'copy' AND copied.is_pageable
                    THEN 'pageable_copy'
                WHEN api_name.kind = 'code_loading' THEN 'code_loading'
                WHEN
                    api_name.kind NOT IN ('copy', 'fill')
                    AND NOT api_name.is_asynchronous
                    THEN api_name.kind
            END AS problem
        FROM api_call
        INNER JOIN api_name
            ON api_call.name = api_name.name AND api_name.kind IS NOT NULL
        LEFT JOIN copied
            ON
                api_call.process_id IS NOT DISTINCT FROM copied.process_id
                AND api_call.correlation_id = copied.correlation_id
        WHERE api_call.domain IS DISTINCT FROM 'backtrace'
    ),
    placed AS (
        SELECT
            suspect.*,
            coalesce(suspect.start_ns < marked.end_ns, FALSE) AS is_inside
        FROM suspect
        ASOF LEFT JOIN marked
            ON
                suspect.owner = marked.owner
                AND suspect.start_ns >= marked.start_ns
        WHERE suspect.problem IS NOT NULL
    ),
    summed AS (
        SELECT
            problem,
            process_id,
            owner,
            api_name,
            count(*) AS calls,
            count(*) FILTER (WHERE is_inside) AS calls_in_steps,
            sum(end_ns - start_ns)::BIGINT AS total_ns,
            coalesce(sum(end_ns - start_ns) FILTER (WHERE is_inside), 0)::BIGINT
                AS in_steps_ns,
            avg(end_ns - start_ns) AS mean_ns,
            max(end_ns - start_ns) AS max_ns,
            sum(bytes)::BIGINT AS bytes
        FROM placed
        GROUP BY problem, process_id, owner, api_name
    )

SELECT
    summed.problem,
    summed.process_id,
    summed.api_name,
    summed.calls,
    CASE WHEN stepping.owner IS NOT NULL THEN summed.calls_in_steps END
        AS calls_in_steps,
    summed.total_ns,
    CASE WHEN stepping.owner IS NOT NULL THEN summed.in_steps_ns END AS in_steps_ns,
    summed.mean_ns,
    summed.max_ns,
    summed.bytes
FROM summed
LEFT JOIN stepping ON summed.owner = stepping.owner
ORDER BY
    summed.total_ns DESC, summed.problem ASC, summed.process_id ASC,
    summed.api_name ASC;
