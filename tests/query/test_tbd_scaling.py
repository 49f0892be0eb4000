"""tbd.scaling: throughput by the number of GPUs, all ranks together."""

from tests.conftest import QueryRows
from tests.query.test_tbd_summary import KERNEL, STEP

NAME = "tbd.scaling"


def test_ranks_add_up(query_rows: QueryRows) -> None:
    process = "process_id, os_pid\n{0}, 1"
    first = {"step": STEP, "kernel": KERNEL, "process": process.format(0)}
    second = {
        "step": STEP.replace("0,          s", "1,          s"),
        "kernel": KERNEL.replace("0,          0, ", "1,          1, "),
        "process": process.format(1),
    }
    (row,) = query_rows(NAME, first, ranks={1: second})
    assert (row["devices"], row["processes"], row["batch_size"]) == (2, 2, 32.0)
    assert row["samples_per_second"] == 128 * 1e9 / 2000
    assert row["samples_per_second_of_device"] == row["samples_per_second"] / 2


def test_one_gpu_has_all_of_it(query_rows: QueryRows) -> None:
    (row,) = query_rows(NAME, step=STEP, kernel=KERNEL)
    assert row["samples_per_second_of_device"] == row["samples_per_second"] == 3.2e7


def test_without_steps_there_is_no_row(query_rows: QueryRows) -> None:
    assert query_rows(NAME, kernel=KERNEL) == []
