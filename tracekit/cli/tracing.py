"""Traces programs as the options of `collect` say, and makes their runs."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from tracekit.cli import counting
from tracekit.cli.collected import finish
from tracekit.cli.output import note
from tracekit.collect import ncu
from tracekit.collect.baseline import measure
from tracekit.collect.parts import Part
from tracekit.collect.ranges import CaptureRange
from tracekit.collect.request import Collected, Request
from tracekit.collect.workloads import RECORD_SUFFIX, RECORD_VARIABLE
from tracekit.store.unfinished import already_there


class Tracing:
    """Traces one program after another, with what all of a command share."""

    def __init__(
        self,
        collector: Callable[[Request], Collected],
        *,
        range_: CaptureRange,
        converts: bool,
        counters: bool,
        baseline: bool,
        part: Part | None,
        top: int | None,
        force: bool,
        quiet: bool,
    ) -> None:
        self._collect = collector
        self._range = range_
        self._converts = converts
        self._counters = counters
        self._baseline = baseline
        self._part = part
        self._top = top
        self._force = force
        self.quiet = quiet

    def run(
        self,
        words: list[str],
        places: tuple[Path, Path],
        presets: list[str],
        variables: Mapping[str, str] | None = None,
        *,
        is_workload: bool = False,
    ) -> int:
        """Trace a program and convert what came of it; return its status."""
        stem, run_path = places
        if self._converts and run_path.exists() and not self._force:
            raise already_there(run_path)
        record = stem.with_name(stem.name + RECORD_SUFFIX)
        own = {RECORD_VARIABLE: str(record.absolute())} if is_workload else {}
        if is_workload:
            record.unlink(missing_ok=True)
        request = Request(
            command=words,
            stem=stem,
            presets=presets,
            capture_range=self._range,
            part=self._part,
            replace=self._force,
            variables={**(variables or {}), **own},
            say=lambda text: note(text, quiet=self.quiet),
        )
        ready = counting.ready(request) if self._counters else None
        if ready is not None:
            counted = ncu.own_presets(presets)
            others = [name for name in presets if name not in counted]
            request = dataclasses.replace(request, presets=others)
        collected = self._collect(request)
        for capture in collected.captures:
            note(f"Captured {capture}", quiet=self.quiet)
        if self._baseline and not collected.status:
            told = measure(request, collected)
            ratio, basis = told.get("overhead.ratio"), told.get("overhead.basis")
            note(f"Traced, a {basis} takes {ratio} times as long", quiet=self.quiet)
        beside = [record] if is_workload and record.exists() else []
        runs = finish(
            collected,
            run_path if self._converts else None,
            beside=beside,
            replace=self._force,
            quiet=self.quiet,
        )
        if ready is not None and collected.status:
            note("No counters: the program failed", quiet=self.quiet)
        elif ready is not None:
            counting.count(
                request,
                ready,
                collected,
                runs,
                beside=beside,
                top=self._top,
                quiet=self.quiet,
            )
        if collected.status:
            note(f"The program ended with status {collected.status}", quiet=self.quiet)
        return collected.status
