"""compute.roofline: what bounds each kernel."""

from tests.conftest import QueryRows
from tests.support.counters import DEVICE, KERNEL, MEASURED, counters, fp32
from tests.support.tables import only, table

NAME = "compute.roofline"


def test_intensity_and_roofs(query_rows: QueryRows) -> None:
    rows = query_rows(NAME, device=DEVICE, kernel=KERNEL, kernel_metric=MEASURED)
    # gemm: 4,096,000 tensor operations in 2,000 ns are 2.048e12/s, a tenth of 2.048e13;
    # 800,000 B are 4e11 B/s of 1e12. 5.12 operations a byte x 1e12 B/s = 5.12e12 is
    # the roof. relu: 1,000 FLOP and 800,000 B in 1,000 ns. FP32 has 0.274 of its peak
    # in gemm, more than the tensor cores.
    assert only(
        rows, ["kernel_name", "pipe", "memory_share", "roof", "bound"]
    ) == table(
        """
        kernel_name, pipe, memory_share, roof,   bound
        gemm,        fp32,          0.4, memory, memory
        relu,        fp32,          0.8, memory, memory
        """
    )
    assert rows[0]["operations_per_byte"] == round(1_400_600 / 800_000, 3)
    assert rows[0]["roof_share"] == round(7.003e11 / 1.75075e12, 3) == 0.4


def test_tensor_cores_near_their_peak_are_the_bound(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters(
            *fp32(0, 0, 0, 100), (0, "tf32", 1.6384e7), (0, "bytes", 1e5)
        ),
    )
    # 1.6384e7 operations in 1,000 ns are 0.8 of 2.048e13; the bytes are 0.1 of 1e12.
    assert (row["pipe"], row["compute_share"]) == ("tensor_tf32", 0.8)
    assert (row["roof"], row["roof_share"], row["bound"]) == ("compute", 0.8, "compute")


def test_a_kernel_far_from_both_is_bound_by_neither(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        device=DEVICE,
        kernel=KERNEL,
        kernel_metric=counters(*fp32(0, 1, 0, 0), (0, "bytes", 9e4)),
    )
    assert row["bound"] == "neither"


def test_what_is_missing_is_told(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME, device=DEVICE, kernel=KERNEL, kernel_metric=counters(*fp32(0, 1, 0, 0))
    )
    assert (row["roof"], row["bound"], row["memory_share"]) == (None, None, None)
    assert row["reason"] == "the bytes of device memory were not measured"
