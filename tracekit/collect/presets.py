"""What a profiler records: presets, each with its cost and what it yields.

They are the files of `collectors/<profiler>/`; several add up.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from tracekit.assets import assets
from tracekit.errors import UsageError

BASE = "light"
# The same records, and the same settings.
_LIKE = {"cupti-python": "cupti"}


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One preset.

    Attributes:
        summary: What is recorded.
        cost: What it costs the traced program.
        yields: The tables that it fills.
        trace: What `--trace` names.
        options: Further options, without their dashes.
        older: What an older version calls an option.
        needs: Permissions: `gpu-counters`, `cpu-sampling`.
    """

    summary: str
    cost: str
    yields: list[str]
    trace: list[str]
    options: dict[str, str] = {}
    older: dict[str, str] = {}
    needs: list[str] = []


@dataclass(frozen=True)
class Recording:
    """What several presets record together.

    Attributes:
        trace: What `--trace` names.
        options: Further options, without their dashes.
        older: What an older version calls an option.
        needs: Which preset needs a permission, by permission.
        asked_by: Which preset set an option, by option.
    """

    trace: tuple[str, ...]
    options: Mapping[str, str]
    older: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    asked_by: Mapping[str, str] = field(default_factory=dict)


def presets(profiler: str = "nsys") -> dict[str, Preset]:
    """Return the presets of a profiler by name, the base first."""
    found = {
        file.name.removesuffix(".toml"): msgspec.convert(
            tomllib.loads(file.read_text("utf-8")), Preset
        )
        for file in (assets("collectors") / _LIKE.get(profiler, profiler)).iterdir()
        if file.name.endswith(".toml")
    }
    return dict(sorted(found.items(), key=lambda item: (item[0] != BASE, item[0])))


def combined(names: Sequence[str], profiler: str = "nsys") -> Recording:
    """Add presets up; a later one overrides an earlier one's options.

    Raises:
        UsageError: There is no such preset.
    """
    known = presets(profiler)
    trace: dict[str, None] = {}
    options: dict[str, str] = {}
    older: dict[str, str] = {}
    needs: dict[str, str] = {}
    asked_by: dict[str, str] = {}
    for name in dict.fromkeys((BASE, *names)):
        if name not in known:
            raise UsageError(
                f"there is no preset `{name}`",
                hint=f"the presets are {', '.join(known)}; see --list-presets",
            )
        preset = known[name]
        trace.update(dict.fromkeys(preset.trace))
        options.update(preset.options)
        older.update(preset.older)
        needs.update(dict.fromkeys(preset.needs, name))
        asked_by.update(dict.fromkeys(preset.options, name))
    return Recording(tuple(trace), options, older, needs, asked_by)
