-- compute.occupancy: how many warps of each kernel fit an SM, and what limits them.
--
-- Theoretical occupancy as NVIDIA's occupancy calculator has it: blocks that fit by
-- warps, by blocks, by registers (given out to warps by 256, to 4 warps at a time) and
-- by shared memory (with the 1 KiB that the driver takes from compute capability 8.0
-- on). The shared memory in force at the launch counts where it is recorded, else all
-- that an SM has. Barriers and clusters can limit it further. A wave is what fits the
-- whole GPU at once. Each configuration of a kernel has a row; executions count whole
-- if they start in the window.
--
-- reads:
--   kernel          rows
--   kernel_counter  lookup
--   device          lookup
-- needs:
--   kernel.block_x
-- parameters:
--   limit  BIGINT = 20    Rows to return, 0 for all.
-- columns:
--   device_id             INTEGER  The device, as in the device table.
--   kernel_name           VARCHAR  The kernel.
--   block_threads         BIGINT   Threads of a block.
--   registers_per_thread  INTEGER  Registers of a thread.
--   shared_bytes          BIGINT   Shared memory of a block.
--   launches              BIGINT   Executions that were counted.
--   total_ns              BIGINT   Their summed duration.
--   limit_warps           BIGINT   Blocks that fit an SM by warps.
--   limit_blocks          BIGINT   Blocks that fit an SM at most.
--   limit_registers       BIGINT   Blocks that fit by registers.
--   limit_shared          BIGINT   Blocks that fit by shared memory; NULL if it has
--                                  none.
--   blocks_per_sm         BIGINT   The least of these.
--   limited_by            VARCHAR  Which that is: warps, blocks, registers or shared.
--   occupancy             DOUBLE   Warps of those blocks over the warps an SM has room
--                                  for, 0 to 1.
--   waves                 DOUBLE   Mean blocks of a launch over what fits the GPU.
--   recorded_occupancy    DOUBLE   What the profiler itself wrote, as a mean.
--   achieved_occupancy    DOUBLE   Warps that were active by counters, as a mean.
--   reason                VARCHAR  Why there is no occupancy.

WITH
    shaped AS (
        SELECT
            kernel.device_id,
            kernel.name AS kernel_name,
            kernel.block_x::BIGINT * kernel.block_y * kernel.block_z AS block_threads,
            kernel.registers_per_thread,
            coalesce(
                kernel.static_shared_bytes + kernel.dynamic_shared_bytes,
                kernel.shared_bytes
            ) AS shared_bytes,
            kernel.executed_shared_bytes,
            count(*) AS launches,
            sum(kernel.end_ns - kernel.start_ns)::BIGINT AS total_ns,
            avg(kernel.grid_x::DOUBLE * kernel.grid_y * kernel.grid_z) AS grid_blocks,
            avg(kernel.occupancy_ratio) AS recorded_occupancy,
            avg(kernel_counter.achieved_occupancy) AS achieved_occupancy
        FROM kernel
        LEFT JOIN kernel_counter ON kernel.kernel_id = kernel_counter.kernel_id
        GROUP BY ALL
    ),
    limited AS (
        SELECT
            shaped.*,
            ceil(shaped.block_threads / 32.0)::BIGINT AS block_warps,
            coalesce(device.max_warps_per_sm, capability.max_warps) AS max_warps,
            coalesce(device.max_blocks_per_sm, capability.max_blocks) AS max_blocks,
            device.registers_per_sm,
            coalesce(shaped.executed_shared_bytes, device.shared_bytes_per_sm)
                AS sm_shared_bytes,
            capability.reserved_shared,
            capability.shared_unit,
            device.sm_count,
            device.compute_capability
        FROM shaped
        LEFT JOIN device ON shaped.device_id = device.device_id
        LEFT JOIN capability_limit() AS capability
            ON device.compute_capability = capability.compute_capability
    ),
    fitting AS (
        SELECT
            *,
            (max_warps // nullif(block_warps, 0))::BIGINT AS limit_warps,
            max_blocks::BIGINT AS limit_blocks,
            CASE
                WHEN registers_per_thread > 0
                    THEN
                        registers_per_sm
                        // (ceil(registers_per_thread * 32 / 256.0)::BIGINT * 256)
                        // 4 * 4 // nullif(block_warps, 0)
            END::BIGINT AS limit_registers,
            CASE
                WHEN shared_bytes + reserved_shared > 0
                    THEN
                        sm_shared_bytes // (
                            ceil((shared_bytes + reserved_shared) / shared_unit)::BIGINT
                            * shared_unit
                        )
            END::BIGINT AS limit_shared
        FROM limited
    ),
    fitted AS (
        SELECT
            *,
            CASE
                WHEN limit_warps IS NOT NULL AND limit_blocks IS NOT NULL
                    THEN
                        least(limit_warps, limit_blocks, limit_registers, limit_shared)
            END AS blocks_per_sm
        FROM fitting
    )

SELECT
    device_id,
    kernel_name,
    block_threads,
    registers_per_thread,
    shared_bytes,
    launches,
    total_ns,
    limit_warps,
    limit_blocks,
    limit_registers,
    limit_shared,
    blocks_per_sm,
    CASE blocks_per_sm
        WHEN limit_warps THEN 'warps'
        WHEN limit_registers THEN 'registers'
        WHEN limit_shared THEN 'shared'
        WHEN limit_blocks THEN 'blocks'
    END AS limited_by,
    blocks_per_sm * block_warps / max_warps AS occupancy,
    grid_blocks / nullif(blocks_per_sm * sm_count, 0) AS waves,
    recorded_occupancy,
    achieved_occupancy,
    CASE
        WHEN blocks_per_sm IS NOT NULL AND registers_per_thread IS NULL
            THEN 'registers are not recorded: an upper bound'
        WHEN blocks_per_sm IS NOT NULL THEN NULL
        WHEN block_threads IS NULL THEN 'the size of blocks is not recorded'
        WHEN compute_capability IS NULL THEN 'the compute capability is not recorded'
        ELSE 'no limits are known for compute capability ' || compute_capability
    END AS reason
FROM fitted
ORDER BY
    total_ns DESC, device_id ASC, kernel_name ASC, block_threads ASC,
    registers_per_thread ASC, shared_bytes ASC, executed_shared_bytes ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
