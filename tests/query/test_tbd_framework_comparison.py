"""tbd.framework_comparison: one model in several frameworks."""

from tests.conftest import QueryRows
from tests.query.test_tbd_summary import API_CALL, KERNEL, STEP

NAME = "tbd.framework_comparison"


def test_framework_and_model_are_those_of_the_facts(query_rows: QueryRows) -> None:
    (row,) = query_rows(
        NAME,
        step=STEP,
        kernel=KERNEL,
        api_call=API_CALL,
        run_fact="key, value\nworkload.framework, torch\nworkload.name, resnet50",
    )
    assert (row["framework"], row["model"]) == ("torch", "resnet50")
    assert (row["batch_size"], row["samples_per_second"]) == (32.0, 3.2e7)
    assert row["kernel_utilization"] == round(900 / 2200, 3)


def test_a_run_without_facts_keeps_its_row(query_rows: QueryRows) -> None:
    (row,) = query_rows(NAME, step=STEP)
    assert (row["framework"], row["model"]) == (None, None)


def test_without_steps_there_is_no_row(query_rows: QueryRows) -> None:
    assert query_rows(NAME, kernel=KERNEL) == []
