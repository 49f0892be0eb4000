"""Records what a process does with CUDA through NVIDIA's `cupti-python`.

The capture is that of the native collector (docs/formats/cupti.md), made without a
compiler. Each record becomes a Python object in the traced process, which costs tens of
microseconds a launch; the native collector costs one or two.

TRACEKIT_CUPTI_FOLDER, -RANGE, -CALLS and -GRAPHS are those of collectors/cupti.
"""

import array
import atexit
import os
import socket
import struct
import sys
import threading
import time
from types import ModuleType
from typing import Any, Dict, List, Optional, Sequence, Tuple

# CUDA is not touched before one of these is imported.
_FRAMEWORKS = frozenset(
    ("torch", "tensorflow", "jax", "jaxlib", "cupy", "mxnet", "numba", "cuda", "pycuda")
)
_FLUSH_S = 0.5
_ROWS = 8192
_BLOCK = 0x314B4C42
_NONE = 0xFFFFFFFF

# Kind by kind: what the file calls its columns, their types, and what a record calls
# them. A number is the value of all records.
_KERNEL = (
    "start_ns:q=start end_ns:q=end graph_node_id:q=graph_node_id "
    "local_bytes_total:q=local_memory_total_v2 name:u=name "
    "correlation_id:u=correlation_id device:u=device_id context_id:u=context_id "
    "stream_id:u=stream_id graph_id:u=graph_id grid_x:i=grid_x grid_y:i=grid_y "
    "grid_z:i=grid_z block_x:i=block_x block_y:i=block_y block_z:i=block_z "
    "cluster_x:u=cluster_x cluster_y:u=cluster_y cluster_z:u=cluster_z "
    "registers_per_thread:u=registers_per_thread "
    "static_shared_bytes:i=static_shared_memory "
    "dynamic_shared_bytes:i=dynamic_shared_memory "
    "executed_shared_bytes:u=shared_memory_executed "
    "local_bytes_per_thread:u=local_memory_per_thread launch_type:u=launch_type"
)
_COPY = (
    "start_ns:q=start end_ns:q=end bytes:q=bytes graph_node_id:q=graph_node_id "
    "copy_count:q=copy_count correlation_id:u=correlation_id device:u=device_id "
    "context_id:u=context_id stream_id:u=stream_id graph_id:u=graph_id "
    "copy_kind:u=copy_kind source_kind:u=src_kind destination_kind:u=dst_kind "
    "source_device:i=src_device_id destination_device:i=dst_device_id"
)
_FILL = (
    "start_ns:q=start end_ns:q=end bytes:q=bytes graph_node_id:q=graph_node_id "
    "correlation_id:u=correlation_id device:u=device_id context_id:u=context_id "
    "stream_id:u=stream_id graph_id:u=graph_id value:u=value memory_kind:u=memory_kind"
)
_GRAPH = (
    "start_ns:q=start end_ns:q=end correlation_id:u=correlation_id device:u=device_id "
    "context_id:u=context_id stream_id:u=stream_id graph_id:u=graph_id"
)
_CALL = (
    "start_ns:q=start end_ns:q=end name:u=name domain:u=domain "
    "correlation_id:u=correlation_id thread:u=thread_id return_value:u=return_value"
)
_SYNC = (
    "start_ns:q=start end_ns:q=end kind:u=type correlation_id:u=correlation_id "
    "context_id:u=context_id stream_id:u=stream_id event_id:u=cuda_event_id"
)
_MEMORY = (
    "time_ns:q=timestamp address:q=address bytes:q=bytes "
    "operation:u=memory_operation_type memory_kind:u=memory_kind "
    "correlation_id:u=correlation_id device:u=device_id context_id:u=context_id "
    "stream_id:u=stream_id"
)
_MARKER = (
    "time_ns:q=timestamp id:u=id flags:u=flags_ name:u=name domain:u=domain "
    "object_kind:u=object_kind thread:u=thread"
)
_CONTEXT = (
    "context_id:u=context_id device:u=device_id null_stream_id:u=null_stream_id "
    "parent_context_id:u=parent_context_id is_green:u=is_green_context"
)
_DEVICE = (
    "uuid_high:q=uuid_high uuid_low:q=uuid_low memory_bytes:q=global_memory_size "
    "bandwidth_kb_s:q=global_memory_bandwidth ordinal:u=id name:u=name "
    "capability_major:u=compute_capability_major "
    "capability_minor:u=compute_capability_minor sm_count:u=num_multiprocessors "
    "clock_khz:u=core_clock_rate l2_cache_bytes:u=l2cache_size "
    "warp_size:u=num_threads_per_warp max_warps_per_sm:u=max_warps_per_multiprocessor "
    "max_blocks_per_sm:u=max_blocks_per_multiprocessor "
    "max_threads_per_block:u=max_threads_per_block "
    "registers_per_sm:u=max_registers_per_multiprocessor "
    "shared_bytes_per_sm:u=max_shared_memory_per_multiprocessor"
)
_KINDS = (
    ("kernel", _KERNEL, ("CONCURRENT_KERNEL", "KERNEL")),
    ("memcpy", _COPY, ("MEMCPY", "MEMCPY2")),
    ("memset", _FILL, ("MEMSET",)),
    ("graph_launch", _GRAPH, ("GRAPH_TRACE",)),
    ("api_call", _CALL, ("RUNTIME", "DRIVER")),
    ("sync", _SYNC, ("SYNCHRONIZATION",)),
    ("memory", _MEMORY, ("MEMORY2",)),
    ("marker", _MARKER, ("MARKER",)),
    ("context", _CONTEXT, ("CONTEXT",)),
    ("device", _DEVICE, ("DEVICE",)),
    ("dropped", "records:q=records", ()),
)
# What a record of some kinds lacks.
_ABSENT = {"copy_count": 0, "src_device_id": -1, "dst_device_id": -1}
_ESSENTIAL = (
    *("Launch", "Memcpy", "Memset", "Malloc", "MemAlloc", "HostAlloc", "Free"),
    *("Synchronize", "WaitEvent", "MemCreate", "MemMap", "MemUnmap", "MemRelease"),
)
_VARIABLES = (
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"),
    *("PMI_RANK", "SLURM_PROCID", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
    *("CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE"),
)


class Column:
    """A column of the file and where its values come from."""

    def __init__(self, text: str) -> None:
        place, self.field = text.split("=")
        self.name, self.type = place.split(":")


class CaptureFile:
    """The file of this process."""

    def __init__(self, path: str, facts: Sequence[Tuple[str, str]]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0)
        self._columns = {
            name: [Column(text) for text in columns.split()]
            for name, columns, _ in _KINDS
        }
        self._numbers = {
            name: number for number, (name, _, _) in enumerate(_KINDS, start=1)
        }
        self._rows: Dict[str, List[Any]] = {name: [] for name in self._columns}
        self._texts: Dict[str, int] = {}
        self._new: List[Tuple[int, bytes]] = []
        self._lock = threading.Lock()
        lines = [
            "{} {}\n".format(key, value.replace("\n", " ")) for key, value in facts
        ]
        for name, columns in self._columns.items():
            described = " ".join(column.name + ":" + column.type for column in columns)
            lines.append(f"kind {self._numbers[name]} {name} {described}\n")
        header = "".join(lines).encode()
        header += b"\n" * (-len(header) % 8)
        self._file.write(b"TKCUPTI1" + struct.pack("<Q", len(header)) + header)

    def text(self, text: Optional[str]) -> int:
        """Return the number of a text; 0 for none."""
        if text is None:
            return 0
        number = self._texts.get(text)
        if number is None:
            number = self._texts[text] = len(self._texts) + 1
            self._new.append((number, text.encode()))
        return number

    def add(self, kind: str, record: object) -> None:
        """Take a record."""
        values = []
        for column in self._columns[kind]:
            value = getattr(record, column.field, _ABSENT.get(column.field, 0))
            if column.name in ("name", "domain") and not isinstance(value, int):
                value = self.text(value)
            values.append(int(value))
        self._rows[kind].append(values)

    def write(self) -> None:
        """Put what waits into the file."""
        with self._lock:
            for kind, rows in self._rows.items():
                if rows:
                    self._rows[kind] = []
                    self._write_texts()
                    for begin in range(0, len(rows), _ROWS):
                        self._write_rows(kind, rows[begin : begin + _ROWS])

    def close(self) -> None:
        """Write the rest."""
        self.write()
        self._file.close()

    def _write_texts(self) -> None:
        new, self._new = self._new, []
        if new:
            parts = [struct.pack("<II", n, len(text)) + text for n, text in new]
            self._block(0, len(new), b"".join(parts))

    def _write_rows(self, kind: str, rows: Sequence[Sequence[int]]) -> None:
        parts = []
        for column, values in zip(self._columns[kind], zip(*rows)):
            if column.type == "q":
                signed = [(v + 2**63) % 2**64 - 2**63 for v in values]
                parts.append(array.array("q", signed).tobytes())
            elif column.type == "i":
                parts.append(array.array("i", values).tobytes())
            else:
                parts.append(array.array("I", [v & _NONE for v in values]).tobytes())
        self._block(self._numbers[kind], len(rows), b"".join(parts))

    def _block(self, number: int, count: int, payload: bytes) -> None:
        payload += b"\0" * (-len(payload) % 8)
        header = struct.pack("<IHHII", _BLOCK, number, 0, count, len(payload))
        self._file.write(header + payload)


class Collector:
    """Takes what CUPTI hands over."""

    def __init__(self, cupti: Any, folder: str) -> None:
        self._cupti = cupti
        self._pid = os.getpid()
        self._kinds = {
            int(getattr(cupti.ActivityKind, kind)): name
            for name, _, kinds in _KINDS
            for kind in kinds
            if hasattr(cupti.ActivityKind, kind)
        }
        self._domains = {
            int(cupti.ActivityKind.DRIVER): int(cupti.CallbackDomain.DRIVER_API),
            int(cupti.ActivityKind.RUNTIME): int(cupti.CallbackDomain.RUNTIME_API),
        }
        self._names: Dict[Tuple[int, int], str] = {}
        self._all_calls = os.environ.get("TRACEKIT_CUPTI_CALLS") == "all"
        self._ended = threading.Event()
        facts = [
            ("pid", str(self._pid)),
            ("host", socket.gethostname()),
            ("program", os.path.basename(sys.executable)),
            ("start_utc_ns", str(int(time.time() * 1e9))),
            ("collector", "cupti-python"),
        ]
        facts += [
            ("variable " + name, os.environ[name])
            for name in _VARIABLES
            if name in os.environ
        ]
        self.file = CaptureFile(_free_path(folder), facts)

    def start(self) -> None:
        """Record from now on."""
        cupti = self._cupti
        if hasattr(cupti, "set_thread_id_type"):
            cupti.set_thread_id_type(cupti.ActivityThreadIdType.SYSTEM)
        cupti.activity_register_callbacks(lambda: (8 << 20, 0), self._completed)
        skipped = {"KERNEL", "GRAPH_TRACE"}
        if os.environ.get("TRACEKIT_CUPTI_GRAPHS") == "graph":
            skipped.remove("GRAPH_TRACE")
        for _, _, kinds in _KINDS:
            for kind in kinds:
                if kind not in skipped and hasattr(cupti.ActivityKind, kind):
                    cupti.activity_enable(getattr(cupti.ActivityKind, kind))
        thread = threading.Thread(target=self._flush, daemon=True)
        thread.start()
        atexit.register(self._finish)

    def _completed(self, records: Sequence[Any]) -> None:
        for record in records:
            kind = self._kinds.get(int(record.kind))
            if kind == "api_call":
                self._call(record)
            elif kind == "marker":
                self.file.add(kind, _Marker(record))
            elif kind == "device":
                self.file.add(kind, _Device(record))
            elif kind is not None:
                self.file.add(kind, record)

    def _call(self, record: Any) -> None:
        domain = self._domains[int(record.kind)]
        key = (domain, int(record.cbid))
        name = self._names.get(key)
        if name is None:
            name = self._cupti.get_callback_name(domain, key[1])
            self._names[key] = name
        if self._all_calls or any(part in name for part in _ESSENTIAL):
            self.file.add("api_call", _Call(record, name, domain))

    def _flush(self) -> None:
        while not self._ended.wait(_FLUSH_S):
            self._cupti.activity_flush_all(0)
            self.file.write()

    def _finish(self) -> None:
        # A forked child has no records of its own.
        if os.getpid() != self._pid:
            return
        self._ended.set()
        self._cupti.activity_flush_all(1)
        lost = self._cupti.activity_get_num_dropped_records(0, 0)
        if lost:
            self.file.add("dropped", _Dropped(lost))
        self.file.close()


class _Call:
    def __init__(self, record: Any, name: str, domain: int) -> None:
        self.start, self.end = record.start, record.end
        self.name, self.domain = name, domain
        self.correlation_id = record.correlation_id
        self.thread_id, self.return_value = record.thread_id, record.return_value


class _Marker:
    def __init__(self, record: Any) -> None:
        self.timestamp, self.id, self.flags_ = (
            record.timestamp,
            record.id,
            record.flags_,
        )
        self.name, self.domain = record.name, record.domain
        self.object_kind = record.object_kind
        owner = getattr(record.object_id, "pt", None)
        self.thread = getattr(owner, "thread_id", 0)


class _Device:
    def __init__(self, record: Any) -> None:
        self._record = record
        uuid = bytes(getattr(record.uuid, "bytes", record.uuid))
        self.uuid_high = int.from_bytes(uuid[:8], "big")
        self.uuid_low = int.from_bytes(uuid[8:16], "big")

    def __getattr__(self, name: str) -> object:
        return getattr(self._record, name)


class _Dropped:
    def __init__(self, records: int) -> None:
        self.records = records


class _Starter:
    """Waits for a framework: stands first where modules are looked for."""

    def __init__(self) -> None:
        self._started = False

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> None:
        if not self._started and name.partition(".")[0] in _FRAMEWORKS:
            self._started = True
            begin()


def begin() -> None:
    """Start recording this process, or say why not."""
    folder = os.environ.get("TRACEKIT_CUPTI_FOLDER", "")
    if not folder:
        return
    try:
        cupti = _library()
    except ImportError as error:
        sys.stderr.write(f"tracekit: nothing is recorded: {error}\n")
        return
    Collector(cupti, folder).start()


def start() -> None:
    """Start recording once a framework is imported."""
    sys.meta_path.insert(0, _Starter())


def _library() -> ModuleType:
    from cupti import cupti

    return cupti


def _free_path(folder: str) -> str:
    stem = os.path.join(folder, f"process-{os.getpid()}")
    path, number = stem + ".cupti", 2
    while os.path.exists(path):
        path, number = f"{stem}-{number}.cupti", number + 1
    return path
