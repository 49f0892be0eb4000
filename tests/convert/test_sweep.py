"""Whatever a cell of an export holds: it converts, or one line says why not.

Each table is dropped in turn, each column dropped or filled with what does not belong
there. A few rounds of it run always, all with `pytest --all-spoils` (`.ci/full`).
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from tests.support.exports import folder_of
from tests.support.sweep import OLDER, Spoil, all_spoils, rounds, small_export, spoil
from tracekit.convert import convert
from tracekit.convert.scrub import scrub
from tracekit.errors import TracekitError
from tracekit.query import load_module, module_names, run_module
from tracekit.store.run import Run

_T = TypeVar("_T")
_SIZE = 10
# Every how many rounds the queries are asked, which takes longest.
_ASKED = 6
_FORMS = {"sqlite": (), "older": OLDER, "parquet": (), "arrow": ()}
_USUAL = {"sqlite": 6, "older": 2, "parquet": 3, "arrow": 2}


class Base(NamedTuple):
    """A whole export, and what can be spoiled of it."""

    path: Path
    rounds: list[list[Spoil]]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Base]:
    made = {}
    for form, statements in _FORMS.items():
        path = small_export(tmp_path_factory.mktemp(form), *statements)
        spoils = all_spoils(path)
        if form == "older":
            spoils = [s for s in spoils if s.table.startswith("GENERIC")]
        made[form] = Base(path, rounds(spoils, _SIZE))
    return made


def ask_everything(run: Run, spoils: Sequence[Spoil] = ()) -> int:
    """Ask every query; return how many answered, as the others said why not."""
    answers = [
        done_or_refused(run_module, load_module(name), [run], {}, spoils=spoils)
        for name in module_names()
    ]
    return sum(answer is not None for answer in answers)


def done_or_refused(
    action: Callable[..., _T], *arguments: object, spoils: Sequence[Spoil]
) -> _T | None:
    """Return what the action returns, or None if one line says why it cannot."""
    try:
        return action(*arguments)
    except TracekitError as error:
        lines = str(error).splitlines()
    except Exception as error:
        raise AssertionError(f"{[*map(str, spoils)]}") from error
    assert len(lines) == 1, lines
    return None


@pytest.mark.parametrize("form", _FORMS)
def test_the_whole_export_converts_and_answers(
    form: str, bases: dict[str, Base], tmp_path: Path
) -> None:
    path = bases[form].path
    if form in ("parquet", "arrow"):
        path = folder_of(path, tmp_path / "kinds", form)
    made = convert([path], tmp_path / "run")
    assert made.manifest.rows("kernel") == 60
    assert made.manifest.rows("counter_sample") > 0
    if form == "sqlite":
        assert ask_everything(made) == len(module_names())


@pytest.mark.parametrize("form", _FORMS)
def test_whatever_a_cell_holds_is_converted_or_refused(
    form: str,
    bases: dict[str, Base],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    base = bases[form]
    everything = request.config.getoption("--all-spoils")
    chosen = base.rounds if everything else base.rounds[: _USUAL[form]]
    converted = 0
    for number, spoils in enumerate(chosen):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = Path(shutil.copy(base.path, folder / "kinds.sqlite"))
        for what in spoils:
            spoil(path, what)
        if form in ("parquet", "arrow"):
            path = folder_of(path, folder / "kinds", form)
        made = done_or_refused(convert, [path], folder / "run", spoils=spoils)
        converted += made is not None
        # A run tells not what form it was made from.
        if made is not None and form == "sqlite" and number % _ASKED == 0:
            ask_everything(made, spoils)
        done_or_refused(scrub, path, folder / "scrubbed", spoils=spoils)
        shutil.rmtree(folder)
    assert converted >= len(chosen) // 2
