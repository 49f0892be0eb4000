"""Lays the slices of a stretch out in tracks and lanes, as compact columns."""

from typing import Any

from tracekit.report.cells import visible
from tracekit.report.model import Slices

_MOST_LANES = 16
_ORDER = {"range": 0, "api": 1, "gpu": 2}

Row = dict[str, Any]


def drawing(slices: Slices) -> dict[str, object]:
    """Return what the page's script draws.

    Returns:
        `tracks`: label and number of lanes of each; `names`: texts; and columns of
        equal length: track, lane, start (ns after the stretch begins), duration, name
        and kind (numbers of texts), count (slices that were merged), id (correlation
        id, or null).
    """
    names: dict[str, int] = {}

    def number(text: str | None) -> int:
        return names.setdefault(visible(text or ""), len(names))

    tracks: list[dict[str, object]] = []
    columns: dict[str, list[Any]] = {
        key: []
        for key in (
            "track",
            "lane",
            "start",
            "duration",
            "name",
            "kind",
            "count",
            "id",
            "process",
        )
    }
    for (label, kind), rows in _tracks(slices.table.to_pylist()).items():
        lanes = _lanes(rows)
        for row, lane in zip(rows, lanes, strict=True):
            columns["track"].append(len(tracks))
            columns["lane"].append(lane)
            columns["start"].append(row["start_ns"] - slices.start_ns)
            columns["duration"].append(row["end_ns"] - row["start_ns"])
            columns["name"].append(number(row["slice_name"]))
            columns["kind"].append(number(row["kind"]))
            columns["count"].append(row["slices"])
            columns["id"].append(row["correlation_id"])
            columns["process"].append(row["process_id"])
        tracks.append({"label": label, "kind": kind, "lanes": max(lanes) + 1})
    return {
        "length": slices.end_ns - slices.start_ns,
        "origin": slices.start_ns,
        "tracks": tracks,
        "names": list(names),
        **columns,
    }


def _tracks(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        key = (
            _ORDER[row["track"]],
            *(
                -1 if row[name] is None else row[name]
                for name in ("process_id", "device_id", "stream_id", "thread_id")
            ),
        )
        found.setdefault(key, []).append(row)
    processes = {row["process_id"] for row in rows}
    return {
        (_label(own[0], several=len(processes) > 1), own[0]["track"]): own
        for _, own in sorted(found.items(), key=lambda item: str(item[0]))
    }


def _label(row: Row, *, several: bool) -> str:
    process = f"process {row['process_id']} " if several else ""
    if row["track"] == "gpu":
        return f"{process}GPU {row['device_id']} stream {row['stream_id']}"
    what = "ranges" if row["track"] == "range" else "API calls"
    return f"{process}thread {row['thread_id']} {what}"


def _lanes(rows: list[Row]) -> list[int]:
    """Return a lane for each row, in which no two that stand alone overlap.

    Merged rows lie behind the others in the first lane.
    """
    ends: list[int] = []
    lanes = []
    for row in rows:
        if row["slices"] > 1:
            lanes.append(0)
            continue
        free = (lane for lane, end in enumerate(ends) if end <= row["start_ns"])
        lane = next(free, min(len(ends), _MOST_LANES - 1))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = max(ends[lane], row["end_ns"])
        lanes.append(lane)
    return lanes
