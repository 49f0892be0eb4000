"""Clocks of ranks are put onto one, and what is left is told."""

import pytest

from tests.support.tables import rows_for
from tracekit.convert.clocks import Align, ClockAligner, Offset
from tracekit.schema import TABLES

# Rank 1 is 1,000 ns behind, rank 2 is 500 ns ahead; the third all-reduce of rank 1
# ends 30 ns late.
ENDS: dict[int, tuple[int, ...]] = {
    0: (100, 200, 300),
    1: (-900, -800, -670),
    2: (600, 700, 800),
}


def aligner_of(ends: dict[int, tuple[int, ...]], more: str = "") -> ClockAligner:
    aligner = ClockAligner()
    for rank, found in ends.items():
        rows = "device_id, communicator, operation, sequence, start_ns, end_ns\n"
        rows += "".join(
            f"0, world, allreduce, {number}, {end - 10}, {end}\n"
            for number, end in enumerate(found)
        )
        for batch in rows_for(TABLES["collective"].arrow, rows + more).to_batches():
            aligner.look(rank, batch)
    return aligner


def test_ends_of_collectives_tell_how_far_apart_clocks_are() -> None:
    offsets = aligner_of(ENDS).offsets({0: None, 1: None, 2: None}, Align.COLLECTIVES)
    # Of the distances 0, 0, 30 of rank 1 the median is 0.
    assert offsets == {
        0: Offset(0, "collectives", 0),
        1: Offset(1_000, "collectives", 0),
        2: Offset(-500, "collectives", 0),
    }


def test_utc_moves_later_origins_and_collectives_tell_the_rest() -> None:
    origins = {0: 5_000, 1: 5_900, 2: 4_500}
    offsets = aligner_of(ENDS).offsets(origins, Align.UTC)
    # Rank 1 should have moved by 1,000 against rank 0 and moved by 900.
    assert offsets == {
        0: Offset(500, "utc", 0),
        1: Offset(1_400, "utc", 100),
        2: Offset(0, "utc", 0),
    }


def test_a_rank_without_utc_keeps_its_clock() -> None:
    assert ClockAligner().offsets({0: 7, 1: None}, Align.UTC) == {
        0: Offset(0, "utc", None),
        1: Offset(0, "recorded", None),
    }


@pytest.mark.parametrize("align", list(Align))
def test_one_rank_is_never_moved(align: Align) -> None:
    offsets = ClockAligner().offsets({3: 5_000}, align)
    assert offsets == {3: Offset(0, "recorded", None)}


def test_no_alignment_leaves_every_clock() -> None:
    offsets = ClockAligner().offsets({0: 5, 1: 9}, Align.NONE)
    assert [o.offset_ns for o in offsets.values()] == [0, 0]


def test_ranks_without_a_common_communicator_are_placed_through_others() -> None:
    aligner = ClockAligner()
    rows = {
        0: "0, a, allreduce, 0, 0, 100\n",
        1: "0, a, allreduce, 0, 0, 150\n0, b, allgather, 0, 0, 250\n",
        2: "0, b, allgather, 0, 0, 1250\n",
    }
    header = "device_id, communicator, operation, sequence, start_ns, end_ns\n"
    for rank, text in rows.items():
        for batch in rows_for(TABLES["collective"].arrow, header + text).to_batches():
            aligner.look(rank, batch)
    offsets = aligner.offsets(dict.fromkeys(rows), Align.COLLECTIVES)
    assert [o.offset_ns for o in offsets.values()] == [0, -50, -1_050]


def test_what_does_not_synchronize_is_no_measure() -> None:
    text = """
        device_id, communicator, operation, sequence, start_ns, end_ns
        0,         world,        broadcast,        0,        0,    {end}
        0,         world,        send,             1,        0,    {end}
        NULL,      world,        allreduce,        2,        0,    {end}
    """
    aligner = ClockAligner()
    for rank, end in ((0, 100), (1, 900)):
        rows = rows_for(TABLES["collective"].arrow, text.replace("{end}", str(end)))
        for batch in rows.to_batches():
            aligner.look(rank, batch)
    offsets = aligner.offsets({0: None, 1: None}, Align.COLLECTIVES)
    assert offsets == {
        0: Offset(0, "recorded", None),
        1: Offset(0, "recorded", None),
    }


def test_collectives_without_a_number_are_matched_in_their_order() -> None:
    aligner = ClockAligner()
    header = "device_id, communicator, operation, start_ns, end_ns\n"
    for rank, late in ((0, 0), (1, 40)):
        text = header + "".join(
            f"0, w, nccl:all_reduce, {n}, {n + 10 + late}\n" for n in (0, 100, 200)
        )
        for batch in rows_for(TABLES["collective"].arrow, text).to_batches():
            aligner.look(rank, batch)
    offsets = aligner.offsets({0: None, 1: None}, Align.COLLECTIVES)
    assert offsets[1].offset_ns == -40


def test_times_since_1970_keep_every_ns() -> None:
    epoch = 1_694_128_201_422_243_001
    ends: dict[int, tuple[int, ...]] = {
        0: (epoch, epoch + 3),
        1: (epoch + 7, epoch + 10),
    }
    offsets = aligner_of(ends).offsets({0: None, 1: None}, Align.COLLECTIVES)
    assert [o.offset_ns for o in offsets.values()] == [0, -7]
    left = aligner_of(ends).offsets({0: None, 1: None}, Align.NONE)
    # The ends are 7 ns apart; their middle is 3 ns after the first.
    assert [o.residual_ns for o in left.values()] == [3, 4]
