"""memory.leaks: what is alive over steps and grows."""

from tests.conftest import QueryRows
from tests.support.tables import only, table

STEPS = "step_index, process_id, start_ns, end_ns\n" + "\n".join(
    f"{number}, 0, {100 * number}, {100 * number + 100}" for number in range(4)
)


def events(*blocks: tuple[int, int | None, int, str]) -> str:
    """Return events of blocks: allocated, freed, bytes and layer."""
    lines = [
        "process_id, device_id, time_ns, kind, address, bytes, allocator,"
        " memory_class, layer"
    ]
    for address, (start, end, size, layer) in enumerate(blocks):
        common = f"{address}, {size}, torch, feature_maps, {layer}"
        lines.append(f"0, 0, {start}, allocate, {common}")
        if end is not None:
            lines.append(f"0, 0, {end}, free, {common}")
    return "\n".join(lines)


def test_what_grows_with_each_step_is_a_leak(query_rows: QueryRows) -> None:
    rows = query_rows(
        "memory.leaks",
        step=STEPS,
        memory_event=events(
            # Kept, one a step.
            *((100 * number + 10, None, 64, "kept") for number in range(4)),
            # Made in each step and gone in the next.
            *((100 * number + 20, 100 * number + 110, 32, "used") for number in (0, 2)),
            # Made once.
            (30, None, 1000, "once"),
            # Grows and shrinks.
            (40, 350, 16, "wave"),
            (140, 350, 16, "wave"),
            # From before the first step.
            (-5, None, 8, "before"),
        ),
    )
    names = [
        "layer",
        "block_bytes",
        "steps",
        "growing_steps",
        "blocks_first",
        "blocks_last",
        "growth_bytes",
        "growth_bytes_per_step",
    ]
    assert only(rows, names) == table("""
        layer, block_bytes, steps, growing_steps, blocks_first, blocks_last, growth_bytes, growth_bytes_per_step
        kept,           64,     4,             3,            1,           4,          192,                  64.0
    """)  # noqa: E501 - a table is read across


def test_growth_in_few_steps_is_none(query_rows: QueryRows) -> None:
    memory = events((10, None, 64, "a"), (310, None, 64, "a"))
    assert query_rows("memory.leaks", step=STEPS, memory_event=memory) == []
    rows = query_rows(
        "memory.leaks", step=STEPS, memory_event=memory, parameters={"share": 0.3}
    )
    assert [row["growth_bytes"] for row in rows] == [64]
