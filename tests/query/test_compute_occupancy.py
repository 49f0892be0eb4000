"""compute.occupancy: how many warps fit an SM, and what limits them."""

import pytest

from tests.conftest import QueryRows

NAME = "compute.occupancy"
DEVICE = """
    device_id, compute_capability, sm_count, max_warps_per_sm, max_blocks_per_sm, registers_per_sm, shared_bytes_per_sm
    0,         9.0,                      10,               64,                32,            65536,              233472
"""  # noqa: E501 - a table is read across


def kernel(threads: int, registers: object, static: int, dynamic: int) -> str:
    return f"""
        device_id, name, start_ns, end_ns, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes, dynamic_shared_bytes
        0,         k,           0,     10,     40,      1,      1, {threads}, 1,         1, {registers},          {static},            {dynamic}
    """  # noqa: E501 - a table is read across


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "limit", "occupancy"),
    [
        # 64 warps hold 8 blocks of 8 warps.
        (256, 32, 0, 8, "warps", 1.0),
        # 32 blocks at most, of one warp each.
        (32, 32, 0, 32, "blocks", 0.5),
        # 128 registers x 32 = 4,096 a warp: 16 warps, 2 blocks of 8.
        (256, 128, 0, 2, "registers", 0.25),
        # 33 registers x 32 = 1,056, given out as 1,280: 51 warps, of which 48 count.
        (512, 33, 0, 3, "registers", 0.75),
        # 100,000 + 1,024 B, in units of 128 B: 2 blocks in 233,472 B.
        (256, 32, 100_000, 2, "shared", 0.25),
        # A block that is no whole number of warps takes one more.
        (33, 32, 0, 32, "warps", 1.0),
        # Nothing fits.
        (1024, 32, 300_000, 0, "shared", 0.0),
    ],
)
def test_what_limits(
    query_rows: QueryRows,
    threads: int,
    registers: int,
    shared: int,
    blocks: int,
    limit: str,
    occupancy: float,
) -> None:
    (row,) = query_rows(
        NAME, device=DEVICE, kernel=kernel(threads, registers, shared // 2, shared // 2)
    )
    assert (row["blocks_per_sm"], row["limited_by"]) == (blocks, limit)
    assert row["occupancy"] == occupancy
    assert row["waves"] == (round(40 / (blocks * 10), 3) if blocks else None)
    assert row["reason"] is None


def test_limits_come_from_the_capability_where_they_are_not_recorded(
    query_rows: QueryRows,
) -> None:
    device = """
        device_id, compute_capability, registers_per_sm, shared_bytes_per_sm
        0,         7.5,                           65536,               65536
    """
    (row,) = query_rows(NAME, device=device, kernel=kernel(256, 32, 0, 0))
    assert (row["limit_warps"], row["limit_blocks"], row["occupancy"]) == (4, 16, 1.0)


def test_without_a_device_the_reason_is_told(query_rows: QueryRows) -> None:
    (row,) = query_rows(NAME, kernel=kernel(256, 32, 0, 0))
    assert row["occupancy"] is None
    assert row["reason"] == "the compute capability is not recorded"


def test_without_registers_it_is_an_upper_bound(query_rows: QueryRows) -> None:
    (row,) = query_rows(NAME, device=DEVICE, kernel=kernel(256, "NULL", 0, 0))
    assert row["occupancy"] == 1.0
    assert "upper bound" in row["reason"]
