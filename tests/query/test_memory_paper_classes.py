"""memory.paper_classes: the paper's five classes."""

from tests.conftest import QueryRows
from tests.support.tables import only, table


def test_classes_are_put_together(query_rows: QueryRows) -> None:
    classes = {
        "weights": 1,
        "weight_gradients": 2,
        "feature_maps": 4,
        "input": 8,
        "workspace": 16,
        "temporaries": 32,
        "activation_gradients": 64,
        "dynamic": 128,
        "communication": 256,
        "unknown": 512,
    }
    lines = "\n".join(
        f"0, 0, 1, allocate, {size}, {size}, torch, {name}"
        for name, size in classes.items()
    )
    rows = query_rows(
        "memory.paper_classes",
        memory_event="process_id, device_id, time_ns, kind, address, bytes, allocator,"
        f" memory_class\n{lines}",
    )
    names = ["paper_class", "bytes_at_peak", "peak_bytes", "made_of"]
    assert only(rows, names) == table("""
        paper_class,      bytes_at_peak, peak_bytes, made_of
        unknown,                    512,       1023, unknown
        dynamic,                    384,       1023, communication + dynamic
        workspace,                  112,       1023, activation_gradients + temporaries + workspace
        feature maps,                12,       1023, feature_maps + input
        weight gradients,             2,       1023, weight_gradients
        weights,                      1,       1023, weights
    """)  # noqa: E501 - a table is read across
