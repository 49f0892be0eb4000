"""Reads rocpd databases."""

from collections.abc import Iterator
from typing import Any

from tracekit.convert.nsys.sqlite_export import SqliteExport
from tracekit.convert.ranks import rank_in_environment, rank_in_name
from tracekit.convert.readers.base import Batch, CaptureLog, RankFacts, Reading
from tracekit.convert.rocm.facts import (
    TOOL,
    blocks,
    call_rows,
    copy_kind,
    device_row,
    explain_absence,
    kernel_names,
)
from tracekit.convert.rocm.rocpd import Part, data_of, parts_of
from tracekit.convert.row_batches import RowBatches
from tracekit.schema import HOST_RANK
from tracekit.tools.variables import is_allowed_variable

Row = dict[str, Any]

_READ = frozenset(
    {
        *("rocpd_metadata", "rocpd_string", "rocpd_timestamp", "rocpd_track"),
        *("rocpd_event", "rocpd_kernel_dispatch", "rocpd_memory_copy"),
        *("rocpd_memory_allocate", "rocpd_region", "rocpd_sample", "rocpd_pmc_event"),
    }
)
_FREED = ("FREE", "RECLAIM")
_SHAPE = tuple(
    f"{kind}_size_{axis}" for kind in ("workgroup", "grid") for axis in "xyz"
)


def read_rocpd(export: SqliteExport, reading: Reading) -> Iterator[Batch]:
    """Yield the rows of a database; see `Reader.read`."""
    rows = RowBatches(reading)
    database = _Database(reading, rows)
    for tables in parts_of(export.tables()).values():
        yield from database.read(Part(export, tables))
    if not reading.log.ranks:
        reading.log.ranks[0] = RankFacts()
    yield from rows.rest()
    explain_absence(rows.tables, reading.tables, reading.log)


class _Database:
    """Ids that are unique over the parts of a database."""

    def __init__(self, reading: Reading, rows: RowBatches) -> None:
        self._reading = reading
        self._log: CaptureLog = reading.log
        self._rows = rows
        self._processes = 0
        self._threads = 0
        self._devices: dict[tuple[str, str], int] = {}
        self._hosts: dict[int, str | None] = {}
        self._rank = 0
        self._process_of: dict[int, int] = {}
        self._thread_of: dict[int, int] = {}
        self._device_of: dict[int, int] = {}
        self._log.tools[TOOL] = "(experimental reader)"

    def read(self, part: Part) -> Iterator[Batch]:
        """Yield the rows of one part."""
        self._describe(part)
        for read in (self._kernels, self._copies, self._allocations, self._regions):
            for table, row in read(part):
                self._rows.add(table, self._rank, row)
                yield from self._rows.full()
        self._counters(part)
        for name in part.names():
            if name not in _READ and not name.startswith("rocpd_info_"):
                count = part.count(name)
                if count and name != "rocpd_arg":
                    self._log.skip(name, "no normalized table holds it", count)

    def _describe(self, part: Part) -> None:
        for row in part.rows("rocpd_metadata", (), ("tag", "value")):
            if row["tag"] == "schema_version":
                self._log.schema_version = row["value"]
        for row in part.rows("rocpd_info_node", ("id",), ("hostname",)):
            self._hosts[row["id"]] = row["hostname"]
            if row["hostname"]:
                self._log.private.hosts.add(row["hostname"])
        self._read_processes(part)
        self._read_agents(part)
        self._thread_of = {}
        for row in part.rows("rocpd_info_thread", ("id", "pid", "tid"), ("name",)):
            self._thread_of[row["id"]] = self._threads
            self._rows.add(
                "thread",
                self._rank,
                {
                    "thread_id": self._threads,
                    "process_id": self._process_of.get(row["pid"]),
                    "os_tid": row["tid"],
                    "name": row["name"],
                },
            )
            self._threads += 1

    def _read_processes(self, part: Part) -> None:
        self._process_of = {}
        texts = ("name", "command", "environment")
        found = part.rows("rocpd_info_process", ("id", "nid", "pid"), texts)
        rank, source = rank_in_name(self._reading.name), "file_name"
        variables: dict[str, str] = {}
        for row in found:
            for name, value in data_of(row["environment"]).items():
                if is_allowed_variable(name):
                    variables[name] = str(value)
                else:
                    self._log.leave_behind(
                        "environment variables",
                        "not on the list of variables that are copied",
                    )
        if rank is None:
            rank, source = rank_in_environment(variables), "environment"
        self._rank = rank or 0
        facts = RankFacts(source="none" if rank is None else source)
        self._log.ranks.setdefault(self._rank, facts)
        for name, value in sorted(variables.items()):
            fact = {"key": f"env.{name}", "value": value, "source": "environment"}
            self._rows.add("run_fact", self._rank, fact)
        for row in found:
            self._process_of[row["id"]] = self._processes
            host, command = self._hosts.get(row["nid"]), row["command"]
            if host:
                self._log.ranks[self._rank].hosts.add(host)
            if command and self._log.command is None:
                self._log.command = command
            program = (command or "").split(" ")[0].rsplit("/", 1)[-1]
            self._rows.add(
                "process",
                self._rank,
                {
                    "process_id": self._processes,
                    "os_pid": row["pid"],
                    "host": host,
                    "name": row["name"] or program or None,
                },
            )
            self._processes += 1

    def _read_agents(self, part: Part) -> None:
        self._device_of = {}
        texts = ("type", "name", "model_name", "product_name", "extdata")
        numbers = ("id", "nid", "absolute_index", "uuid")
        for row in part.rows("rocpd_info_agent", numbers, texts):
            if row["type"] != "GPU":
                continue
            host = self._hosts.get(row["nid"])
            # Parts of several processes list the same GPU.
            key = (host or "", f"{row['uuid'] or ''}/{row['absolute_index']}")
            if key not in self._devices:
                self._devices[key] = len(self._devices)
                agent = {
                    **data_of(row["extdata"]),
                    **{name: row[name] for name in texts[1:4] if row[name]},
                    "uuid": row["uuid"],
                }
                device = device_row(self._devices[key], agent)
                self._rows.add("device", HOST_RANK, {**device, "host": host})
            self._device_of[row["id"]] = self._devices[key]

    def _common(self, row: Row) -> Row:
        return {
            "process_id": self._process_of.get(row["pid"]),
            "start_ns": row["start"],
            "end_ns": row["end"],
            "stream_id": row["stream_id"],
            # 0 ties a row to nothing.
            "correlation_id": row["correlation_id"] or None,
        }

    def _kernels(self, part: Part) -> Iterator[tuple[str, Row]]:
        symbols = {
            row["id"]: row
            for row in part.rows(
                "rocpd_info_kernel_symbol",
                ("id", "arch_vgpr_count"),
                ("kernel_name", "display_name"),
            )
        }
        numbers = ("kernel_id", "private_segment_size", "group_segment_size", *_SHAPE)
        for row in part.spans("rocpd_kernel_dispatch", numbers).iter_rows(named=True):
            symbol = symbols.get(row["kernel_id"], {})
            shape = {}
            for axis in "xyz":
                size = row[f"workgroup_size_{axis}"]
                shape[f"block_{axis}"] = size
                shape[f"grid_{axis}"] = blocks(row[f"grid_size_{axis}"], size)
            yield (
                "kernel",
                {
                    **self._common(row),
                    **kernel_names(
                        symbol.get("kernel_name"), symbol.get("display_name")
                    ),
                    **shape,
                    "device_id": self._device_of.get(row["agent_id"]),
                    "registers_per_thread": symbol.get("arch_vgpr_count"),
                    "shared_bytes": row["group_segment_size"],
                    "local_bytes_per_thread": row["private_segment_size"],
                },
            )

    def _copies(self, part: Part) -> Iterator[tuple[str, Row]]:
        numbers = ("name_id", "dst_agent_id", "src_agent_id", "size")
        for row in part.spans("rocpd_memory_copy", numbers).iter_rows(named=True):
            source = self._device_of.get(row["src_agent_id"])
            target = self._device_of.get(row["dst_agent_id"])
            yield (
                "memcpy",
                {
                    **self._common(row),
                    "device_id": target if target is not None else source,
                    "source_device_id": source,
                    "destination_device_id": target,
                    "bytes": row["size"],
                    "copy_kind": copy_kind(part.strings.get(row["name_id"])),
                },
            )

    def _allocations(self, part: Part) -> Iterator[tuple[str, Row]]:
        found = part.spans("rocpd_memory_allocate", ("address", "size"), ("type",))
        for row in found.iter_rows(named=True):
            yield (
                "memory_event",
                {
                    **self._common(row),
                    "thread_id": self._thread_of.get(row["tid"]),
                    "device_id": self._device_of.get(row["agent_id"]),
                    "time_ns": row["start"],
                    "kind": "free"
                    if row["type"] in ("FREE", "RECLAIM")
                    else "allocate",
                    "address": row["address"],
                    "bytes": row["size"] or None,
                    "allocator": "hsa",
                },
            )

    def _regions(self, part: Part) -> Iterator[tuple[str, Row]]:
        categories = part.strings
        if part.has("rocpd_info_category"):
            categories = {
                row["id"]: row["name"]
                for row in part.rows("rocpd_info_category", ("id",), ("name",))
            }
        for row in part.spans("rocpd_region", ("name_id",)).iter_rows(named=True):
            call = self._common(row)
            del call["stream_id"]
            call["thread_id"] = self._thread_of.get(row["tid"])
            category = categories.get(row["category_id"]) or "HIP"
            text = data_of(row["event_data"]).get("message")
            name = part.strings.get(row["name_id"])
            yield from call_rows(
                category, name, text if isinstance(text, str) else None, call
            )

    def _counters(self, part: Part) -> None:
        values = part.frame("rocpd_pmc_event", ("event_id", "pmc_id"), (), ("value",))
        if values.is_empty():
            return
        names = {
            row["id"]: (row["symbol"] or row["name"], row["units"] or None)
            for row in part.rows("rocpd_info_pmc", ("id",), ("name", "symbol", "units"))
        }
        dispatches = {
            row["event_id"]: (place, self._process_of.get(row["pid"]), row)
            for place, row in enumerate(
                part.spans("rocpd_kernel_dispatch", ()).iter_rows(named=True)
            )
        }
        time = "timestamp_id" if part.is_normalized else "timestamp"
        times = {
            row["id"]: row["value"]
            for row in part.rows("rocpd_timestamp", ("id", "value"))
        }
        agents = {
            row["id"]: row["agent_id"]
            for row in part.rows("rocpd_track", ("id", "agent_id"))
        }
        samples = {
            row["event_id"]: row
            for row in part.rows("rocpd_sample", ("track_id", "event_id", time))
        }
        for event, pmc, value in values.iter_rows():
            metric, unit = names.get(pmc, (f"counter_{pmc}", None))
            if event in dispatches:
                place, process, dispatch = dispatches[event]
                row: Row = {
                    "launch_index": place,
                    "process_id": process,
                    "correlation_id": dispatch["correlation_id"] or None,
                    "tool": TOOL,
                }
                table, rank = "kernel_metric", self._rank
            elif event in samples:
                sample = samples[event]
                moment = sample[time]
                row = {
                    "source": "gpu",
                    "device_id": self._device_of.get(
                        agents.get(sample["track_id"], -1)
                    ),
                    "time_ns": times.get(moment) if part.is_normalized else moment,
                }
                table, rank = "counter_sample", HOST_RANK
            else:
                self._log.skip("rocpd_pmc_event", "of no kernel and no sample")
                continue
            self._rows.add(
                table, rank, {**row, "metric": metric, "unit": unit, "value": value}
            )
