"""compute.tensor_core_use: by counters; by name only as a hint."""

import pytest

from tests.conftest import QueryRows
from tests.support.counters import KERNEL, MEASURED, counters
from tests.support.tables import only, table

NAME = "compute.tensor_core_use"


def test_counters_tell(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, kernel=KERNEL, kernel_metric=MEASURED)
    assert only(
        rows, ["kernel_name", "uses_tensor_cores", "source", "tensor_operations"]
    ) == table("""
        kernel_name, uses_tensor_cores, source,   tensor_operations
        gemm,        true,              counters, 4096000.0
        relu,        false,             counters, 0.0
    """)


def test_the_active_share_is_weighted_by_time(query_rows: QueryRows) -> None:
    kernel = """
        kernel_id, device_id, name, start_ns, end_ns
        0,         0,         gemm,        0,   1000
        1,         0,         gemm,     1000,   4000
    """
    (row,) = query_rows(
        NAME,
        kernel=kernel,
        kernel_metric=counters((0, "tensor_active", 80), (1, "tensor_active", 40)),
    )
    assert (row["uses_tensor_cores"], row["tensor_active_share"]) == (True, 0.5)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32", True),
        ("cutlass_80_tensorop_s1688gemm_128x128", True),
        ("ampere_bf16_s16816gemm_bf16_128x128", True),
        ("volta_h884gemm_64x64", True),
        ("nvjet_hsh_128x256_64x4", True),
        ("cutlass_80_simt_sgemm_256x128_8x4_nn_align1", False),
        ("volta_sgemm_128x64", None),
        ("vectorized_elementwise_kernel", None),
        ("batch_norm_reduce_bf16", None),
    ],
)
def test_a_name_is_a_hint(query_rows: QueryRows, name: str, hint: object) -> None:
    (row,) = query_rows(
        NAME, kernel=f"kernel_id, device_id, name, start_ns, end_ns\n0, 0, {name}, 0, 9"
    )
    assert row["uses_tensor_cores"] is hint
    assert row["source"] == (None if hint is None else "name")
    assert row["tensor_operations"] is None
