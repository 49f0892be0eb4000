"""The normalized tables: name, columns, types, units, meaning.

This file is the one source of truth. Readers fill these tables, the store writes
them, queries read them, and the schema page of the documentation is generated from
them. Which field of a capture fills a column stands in the reader that does it.

Rules that hold for every table:

- NULL means "not recorded", never 0.
- Times are nanoseconds on the rank's recorded clock; `start_ns` and `end_ns` bound a
  half-open interval, `time_ns` is an instant.
- 64-bit unsigned values keep their bits in BIGINT.
- `process_id`, `thread_id` and `device_id` are dense integers, made by the converter,
  unique in the run; raw ids stand beside them.
- The rank is the partition (`rank=N`), not a column of the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType

import pyarrow as pa

MAJOR = 1
MINOR = 2
VERSION = f"{MAJOR}.{MINOR}"

HOST_RANK = -1
"""The partition that holds the rows of a host rather than of a rank."""


class Type(Enum):
    """The types that every engine reads alike; the value is the SQL name."""

    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    VARCHAR = "VARCHAR"

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type."""
        return _ARROW[self]


_ARROW = {
    Type.BOOLEAN: pa.bool_(),
    Type.INTEGER: pa.int32(),
    Type.BIGINT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.VARCHAR: pa.string(),
}


class Scope(Enum):
    """Where the rows of a table live: under each rank, or once per host."""

    RANK = "rank"
    HOST = "host"


@dataclass(frozen=True)
class Column:
    """One column of a normalized table.

    Attributes:
        name: Name in Parquet and in SQL.
        type: Its type.
        meaning: What the value says.
        unit: Unit of the value, or None where it has none.
    """

    name: str
    type: Type
    meaning: str
    unit: str | None = None


@dataclass(frozen=True)
class Table:
    """One normalized table.

    Attributes:
        name: Name of the table and of its folder in a run.
        row: What one row is.
        columns: The columns, in order.
        scope: Whether the rows belong to a rank or to a host.
        time: The column that the rows are sorted by, or None.
        number: The column that holds the row's position in the file, or None; the
            store fills it.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    scope: Scope = Scope.RANK
    time: str | None = None
    number: str | None = None

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema of the table."""
        return pa.schema([pa.field(c.name, c.type.arrow) for c in self.columns])

    @cached_property
    def column_names(self) -> frozenset[str]:
        """The names of the columns."""
        return frozenset(column.name for column in self.columns)

    @property
    def is_interval(self) -> bool:
        """Whether a row has a start and an end."""
        return {"start_ns", "end_ns"} <= self.column_names


_B, _I, _L, _D, _S = Type.BOOLEAN, Type.INTEGER, Type.BIGINT, Type.DOUBLE, Type.VARCHAR

_PROCESS = Column("process_id", _I, "The process, as in `process`.")
_THREAD = Column("thread_id", _I, "The thread, as in `thread`.")
_DEVICE = Column("device_id", _I, "The GPU, as in `device`.")
_CONTEXT = Column("context_id", _L, "CUDA context, as numbered in its process.")
_GREEN = Column("green_context_id", _L, "Green context, where one was in use.")
_STREAM = Column("stream_id", _L, "CUDA stream, as numbered in its context.")
_CORRELATION = Column(
    "correlation_id", _L, "Id of the API call that caused it, unique in its process."
)
_GRAPH = Column("graph_id", _L, "CUDA graph it was launched by.")
_GRAPH_NODE = Column("graph_node_id", _L, "Node of that graph.")
_HOST = Column("host", _S, "Name of the machine.")
_STACK = Column("call_stack_id", _L, "Its call stack, as in `call_stack`.")


def _interval(what: str) -> tuple[Column, Column]:
    return (
        Column("start_ns", _L, f"When {what} began.", "ns"),
        Column("end_ns", _L, f"When {what} ended.", "ns"),
    )


def _instant(what: str) -> Column:
    return Column("time_ns", _L, f"When {what}.", "ns")


_GPU_WORK = (_PROCESS, _DEVICE, _CONTEXT, _GREEN, _STREAM, _CORRELATION)

_ALL = (
    Table(
        "device",
        "a GPU, or a MIG instance of one",
        (
            _DEVICE,
            _HOST,
            Column("name", _S, "Product name."),
            Column("uuid", _S, "UUID of the GPU or MIG instance."),
            Column("bus", _S, "PCI bus address."),
            Column("chip", _S, "Chip, such as GH100."),
            Column("compute_capability", _S, "CUDA compute capability, such as 9.0."),
            Column("sm_count", _I, "Streaming multiprocessors."),
            Column("max_clock_hz", _L, "Maximum SM clock.", "Hz"),
            Column("memory_bytes", _L, "Size of the device memory.", "B"),
            Column(
                "memory_bandwidth", _L, "Peak bandwidth of the device memory.", "B/s"
            ),
            Column("l2_cache_bytes", _L, "Size of the L2 cache.", "B"),
            Column("warp_size", _I, "Threads in a warp."),
            Column("max_warps_per_sm", _I, "Warps that fit an SM."),
            Column("max_blocks_per_sm", _I, "Thread blocks that fit an SM."),
            Column("max_threads_per_block", _I, "Threads that fit a block."),
            Column("registers_per_sm", _I, "32-bit registers of an SM."),
            Column("shared_bytes_per_sm", _L, "Shared memory of an SM.", "B"),
            Column(
                "peak_fp32_flops",
                _D,
                "2 x FP32 lanes per SM x SMs x maximum SM clock.",
                "FLOP/s",
            ),
            Column("peak_fp32_derivation", _S, "How that peak was computed."),
        ),
        scope=Scope.HOST,
    ),
    Table(
        "process",
        "a process that did something in the capture",
        (
            _PROCESS,
            Column("os_pid", _L, "Process id of the operating system."),
            _HOST,
            Column("name", _S, "Name of the executable."),
        ),
    ),
    Table(
        "thread",
        "a thread that did something in the capture",
        (
            _THREAD,
            _PROCESS,
            Column("os_tid", _L, "Thread id of the operating system."),
            Column("name", _S, "Name of the thread."),
        ),
    ),
    Table(
        "context",
        "a CUDA context of a process",
        (
            _PROCESS,
            _CONTEXT,
            _DEVICE,
            Column("cuda_ordinal", _I, "The device as the process numbers it."),
            Column("null_stream_id", _L, "Stream id of the default stream."),
            Column("parent_context_id", _L, "Context a green context was made from."),
            Column("is_green", _B, "Whether it is a green context."),
        ),
    ),
    Table(
        "stream",
        "a CUDA stream of a context",
        (
            _PROCESS,
            _CONTEXT,
            _STREAM,
            Column("name", _S, "Name given to the stream."),
            Column("priority", _I, "Priority; lower numbers go first."),
            Column("kind", _S, "default, non_blocking or null."),
        ),
    ),
    Table(
        "kernel",
        "an execution of a kernel",
        (
            Column("kernel_id", _L, "Number of the execution in its rank."),
            *_GPU_WORK,
            _GRAPH,
            _GRAPH_NODE,
            *_interval("the kernel"),
            Column("name", _S, "Name as the profiler wrote it."),
            Column("mangled_name", _S, "Linker symbol."),
            Column(
                "canonical_name",
                _S,
                "Itanium demangling of the mangled name, or a normal form of the "
                "recorded one: the name that joins tools.",
            ),
            Column(
                "short_name", _S, "Base name, without namespace, template, arguments."
            ),
            Column("grid_x", _I, "Thread blocks in x."),
            Column("grid_y", _I, "Thread blocks in y."),
            Column("grid_z", _I, "Thread blocks in z."),
            Column("block_x", _I, "Threads of a block in x."),
            Column("block_y", _I, "Threads of a block in y."),
            Column("block_z", _I, "Threads of a block in z."),
            Column("cluster_x", _I, "Blocks of a cluster in x."),
            Column("cluster_y", _I, "Blocks of a cluster in y."),
            Column("cluster_z", _I, "Blocks of a cluster in z."),
            Column("registers_per_thread", _I, "Registers a thread."),
            Column("static_shared_bytes", _L, "Static shared memory a block.", "B"),
            Column("dynamic_shared_bytes", _L, "Dynamic shared memory a block.", "B"),
            Column("executed_shared_bytes", _L, "Shared memory size in force.", "B"),
            Column(
                "shared_bytes",
                _L,
                "Shared memory a block, where only the sum of both kinds is known.",
                "B",
            ),
            Column("local_bytes_per_thread", _L, "Local memory a thread.", "B"),
            Column("local_bytes_total", _L, "Local memory reserved for it.", "B"),
            Column(
                "launch_type", _S, "regular, cooperative or cooperative_multi_device."
            ),
            Column(
                "occupancy_ratio",
                _D,
                "Theoretical occupancy by the profiler: warps that fit an SM at once "
                "over the warps it has room for, 0 to 1.",
            ),
            Column("operator_name", _S, "Framework operator that it was made for."),
            Column("hlo_op", _S, "XLA operation that it was made for."),
            Column("hlo_module", _S, "XLA module of that operation."),
        ),
        time="start_ns",
        number="kernel_id",
    ),
    Table(
        "memcpy",
        "a copy on a GPU, unified-memory migrations included",
        (
            *_GPU_WORK,
            _GRAPH,
            _GRAPH_NODE,
            *_interval("the copy"),
            Column("bytes", _L, "Bytes copied.", "B"),
            Column(
                "copy_kind",
                _S,
                "HtoD, DtoH, DtoD, HtoH, PtoP, with A for CUDA arrays; unified_HtoD, "
                "unified_DtoH, unified_DtoD for migrations; decompress for "
                "decompression by the copy engines.",
            ),
            Column(
                "source_memory_kind",
                _S,
                "pageable, pinned, device, array, managed, device_static, "
                "managed_static.",
            ),
            Column("destination_memory_kind", _S, "The same for the destination."),
            Column("source_device_id", _I, "GPU copied from."),
            Column("destination_device_id", _I, "GPU copied to."),
            Column(
                "migration_cause",
                _S,
                "Why unified memory moved: user_prefetch, page_fault, "
                "speculative_prefetch, eviction, access_counters.",
            ),
            Column("copy_count", _L, "Copies that one batched record stands for."),
        ),
        time="start_ns",
    ),
    Table(
        "memset",
        "a fill on a GPU",
        (
            *_GPU_WORK,
            _GRAPH,
            _GRAPH_NODE,
            *_interval("the fill"),
            Column("bytes", _L, "Bytes filled.", "B"),
            Column("value", _L, "Value filled in."),
            Column("memory_kind", _S, "Kind of the memory filled, as in `memcpy`."),
        ),
        time="start_ns",
    ),
    Table(
        "graph_launch",
        "an execution of a CUDA graph that was traced as a whole",
        (
            *_GPU_WORK,
            *_interval("the graph"),
            _GRAPH,
            Column("graph_exec_id", _L, "Executable graph it was made into."),
        ),
        time="start_ns",
    ),
    Table(
        "api_call",
        "a call of the CUDA runtime or driver API",
        (
            _PROCESS,
            _THREAD,
            Column(
                "domain",
                _S,
                "runtime or driver; backtrace for the span of a call together with "
                "the profiler's backtrace of it (the call has a row of its own).",
            ),
            Column(
                "name",
                _S,
                "Function, without a final _v and exactly four digits.",
            ),
            *_interval("the call"),
            Column("return_value", _L, "Result; 0 is success."),
            _CORRELATION,
            _STACK,
        ),
        time="start_ns",
    ),
    Table(
        "library_call",
        "a traced call of a library other than CUDA: cuDNN, cuBLAS, MPI, UCX, MXNet",
        (
            _PROCESS,
            _THREAD,
            Column("library", _S, "cudnn, cublas, mpi, ucx, mxnet."),
            Column("name", _S, "Function."),
            *_interval("the call"),
            Column("bytes", _L, "Bytes sent, where the call says.", "B"),
        ),
        time="start_ns",
    ),
    Table(
        "sync",
        "a synchronization of the host or of a stream",
        (
            *_GPU_WORK,
            *_interval("the wait"),
            Column("kind", _S, "event, stream_wait_event, stream or context."),
            Column("event_id", _L, "CUDA event waited for."),
            Column("event_sync_id", _L, "Record of that event."),
        ),
        time="start_ns",
    ),
    Table(
        "cuda_event",
        "a record of a CUDA event",
        (
            *_GPU_WORK,
            Column("event_id", _L, "CUDA event."),
            Column("event_sync_id", _L, "Number of the record."),
            _instant("the GPU reached the event"),
        ),
        time="time_ns",
    ),
    Table(
        "annotation",
        "an NVTX range or mark, a record_function, a profiler step",
        (
            Column("annotation_id", _L, "Number of the annotation in its rank."),
            _PROCESS,
            _THREAD,
            Column("end_thread_id", _I, "Thread that ended a start_end range."),
            Column("kind", _S, "push_pop, start_end or mark."),
            Column("domain", _S, "NVTX domain; NULL is the default domain."),
            Column("category", _S, "NVTX category, by name where it has one."),
            Column("text", _S, "Text of the range or mark."),
            *_interval("the range"),
            Column("payload", _S, "Payload as JSON text."),
        ),
        time="start_ns",
        number="annotation_id",
    ),
    Table(
        "operator",
        "an operator of a framework: aten, TensorFlow, MXNet",
        (
            Column("operator_id", _L, "Number of the operator in its rank."),
            _PROCESS,
            _THREAD,
            Column("name", _S, "Operator, such as aten::addmm."),
            *_interval("the operator"),
            Column("input_shapes", _S, "Shapes of the inputs, canonical JSON."),
            Column("input_types", _S, "Element types of the inputs, JSON."),
            Column("input_strides", _S, "Strides of the inputs, JSON."),
            Column("concrete_inputs", _S, "Scalar inputs, JSON."),
            Column("sequence", _L, "Number that pairs forward and backward."),
            Column("forward_thread_id", _I, "Thread that ran the forward part."),
            Column("record_function_id", _L, "Id shared with an execution trace."),
            Column("scope", _S, "Name of the node, with the scopes around it."),
            Column("device_id", _I, "The GPU it ran on, as in `device`."),
        ),
        time="start_ns",
        number="operator_id",
    ),
    Table(
        "execution_node",
        "a node of an execution trace: what a framework ran, without times",
        (
            Column("node_id", _L, "Node, as numbered in its trace."),
            Column("parent_node_id", _L, "Node that it was called by."),
            Column("forward_node_id", _L, "Node of the forward part."),
            Column(
                "record_function_id", _L, "Id shared with `operator` of a timeline."
            ),
            Column("sequence", _L, "Number that pairs forward and backward."),
            Column("os_pid", _L, "Process id of the operating system."),
            Column("trace_thread_id", _L, "Thread as the trace numbers it."),
            Column("forward_trace_thread_id", _L, "Thread of the forward part."),
            Column("name", _S, "Operator or range."),
            Column(
                "record_scope",
                _S,
                "Kind of record: function, backward_function, user_scope, ...",
            ),
            Column("operator_schema", _S, "Declaration of the operator."),
            Column("kernel_backend", _S, "Compiler of its kernel, such as triton."),
            Column("kernel_file", _S, "File of that kernel."),
            Column(
                "input_values",
                _S,
                "Inputs, JSON; a tensor is [tensor id, storage id, offset, elements, "
                "bytes an element, device].",
            ),
            Column("input_shapes", _S, "Shapes of the inputs, canonical JSON."),
            Column("input_types", _S, "Types of the inputs, JSON."),
            Column("input_strides", _S, "Strides of the inputs, JSON."),
            Column("output_values", _S, "Outputs, as the inputs."),
            Column("output_shapes", _S, "Shapes of the outputs, canonical JSON."),
            Column("output_types", _S, "Types of the outputs, JSON."),
            Column("output_strides", _S, "Strides of the outputs, JSON."),
        ),
    ),
    Table(
        "flow",
        "a link between two events, such as forward to backward",
        (
            Column("flow_id", _L, "Number of the link, unique in its kind."),
            Column("kind", _S, "forward_backward or launch."),
            _PROCESS,
            _THREAD,
            Column("start_ns", _L, "When the link leaves.", "ns"),
            Column("end_process_id", _I, "Process it arrives in."),
            Column("end_thread_id", _I, "Thread it arrives in."),
            Column("end_ns", _L, "When the link arrives.", "ns"),
        ),
        time="start_ns",
    ),
    Table(
        "module",
        "a run of a layer of the model",
        (
            _PROCESS,
            _THREAD,
            Column("name", _S, "Layer, such as Conv2d_0."),
            Column("path", _S, "Path of the layer in the model."),
            Column("phase", _S, "forward, backward or optimizer."),
            *_interval("the layer"),
        ),
        time="start_ns",
    ),
    Table(
        "python_function",
        "a call of a Python function",
        (
            Column("python_id", _L, "Number of the call in its capture."),
            Column("parent_python_id", _L, "Call that made this one."),
            _PROCESS,
            _THREAD,
            Column("name", _S, "Function, with file and line."),
            *_interval("the call"),
        ),
        time="start_ns",
    ),
    Table(
        "step",
        "an iteration of training",
        (
            Column("step_index", _L, "Number of the step."),
            _PROCESS,
            Column("name", _S, "Text of the annotation it was read from."),
            *_interval("the step"),
            Column("samples", _D, "Samples processed in it."),
            Column(
                "unit",
                _S,
                "What a sample is: images, sentences, tokens, audio_seconds, frames.",
            ),
            Column("source", _S, "annotation, profiler, workload or detected."),
        ),
        time="start_ns",
    ),
    Table(
        "collective",
        "a communication operation",
        (
            _PROCESS,
            _THREAD,
            _DEVICE,
            _STREAM,
            _CORRELATION,
            Column("communicator", _S, "Communicator or process group."),
            Column("operation", _S, "Such as all_reduce."),
            *_interval("the operation"),
            Column("bytes", _L, "Message size.", "B"),
            Column("data_type", _S, "Element type."),
            Column("reduction", _S, "Reduction operation, such as sum."),
            Column("group_size", _I, "Ranks that take part."),
            Column("ranks", _S, "Those ranks, JSON."),
            Column("sequence", _L, "Number of the operation in its communicator."),
            Column("source", _S, "What the row was read from: annotation, kernel."),
        ),
        time="start_ns",
    ),
    Table(
        "memory_event",
        "an allocation or a release of memory",
        (
            _PROCESS,
            _THREAD,
            _DEVICE,
            _CONTEXT,
            _STREAM,
            _CORRELATION,
            _instant("the memory was allocated or released"),
            Column(
                "kind",
                _S,
                "allocate or free; held: it was allocated already when recording "
                "began; free_completed: after a free, the block can be given out "
                "again; out_of_memory: it was refused; class_out, class_in: a block "
                "that stays allocated goes from one class to another, a pair of rows.",
            ),
            Column("address", _L, "Address; unsigned bits in a signed column."),
            Column("bytes", _L, "Size of the block.", "B"),
            Column("allocator", _S, "Who gave it: cuda, cuda_pool, torch, ..."),
            Column("memory_kind", _S, "Kind of the memory, as in `memcpy`."),
            Column(
                "memory_class",
                _S,
                "weights, weight_gradients, feature_maps, activation_gradients, "
                "temporaries, workspace, dynamic, communication, input, unknown.",
            ),
            Column("tag", _S, "Variable, tensor or operator it belongs to."),
            Column("total_allocated_bytes", _L, "Allocated after it.", "B"),
            Column("total_reserved_bytes", _L, "Reserved after it.", "B"),
            Column("requested_bytes", _L, "Size that was asked for.", "B"),
            Column("region", _S, "Region of a program's memory: output, temp, ..."),
            Column("data_type", _S, "Element type of the tensor, such as float32."),
            Column("shape", _S, "Shape of the tensor, canonical JSON."),
            _STACK,
            Column(
                "class_source",
                _S,
                "How memory_class is known: profiler (it said so) or storage (the "
                "storage was followed from its allocation to its release).",
            ),
            Column("layer", _S, "Layer of the model that made or owns it."),
            Column("memory_event_id", _L, "Number of the event in its rank, in order."),
        ),
        time="time_ns",
        number="memory_event_id",
    ),
    Table(
        "memory_segment",
        "a span of memory that an allocator reserved",
        (
            _PROCESS,
            _DEVICE,
            _STREAM,
            *_interval("the reservation"),
            Column("address", _L, "Address; unsigned bits in a signed column."),
            Column("bytes", _L, "Size of the segment.", "B"),
            Column("allocator", _S, "Who reserved it: cuda_pool, torch, ..."),
        ),
        time="start_ns",
    ),
    Table(
        "counter_sample",
        "a sampled value",
        (
            _HOST,
            Column("source", _S, "gpu, nic, cpu, nvml, mxnet or kineto."),
            Column("instance", _S, "Which one, where that is no GPU or CPU core."),
            _DEVICE,
            Column("cpu", _I, "CPU core."),
            _instant("the sample was taken"),
            Column("metric", _S, "Name of the metric."),
            Column("unit", _S, "Unit of the value."),
            Column("value", _D, "The value."),
        ),
        scope=Scope.HOST,
        time="time_ns",
    ),
    Table(
        "kernel_metric",
        "a hardware counter of one kernel execution",
        (
            Column("kernel_id", _L, "The kernel, as in `kernel`; NULL if unmatched."),
            Column(
                "match_kind",
                _S,
                "How it was matched: correlation, mangled_name, shape (base name, "
                "grid, block, order) or name (no shape was recorded).",
            ),
            Column(
                "unit_repeat",
                _I,
                "Which repetition of all measured launches the kernel is in, from 0; "
                "NULL where launches of the same name and shape were counted instead.",
            ),
            Column("launch_index", _L, "Order of the launch in the counter file."),
            _PROCESS,
            _DEVICE,
            _CORRELATION,
            Column("kernel_name", _S, "Name in the counter file."),
            Column("mangled_name", _S, "Linker symbol, where the file has it."),
            Column("grid_x", _I, "Thread blocks in x."),
            Column("grid_y", _I, "Thread blocks in y."),
            Column("grid_z", _I, "Thread blocks in z."),
            Column("block_x", _I, "Threads of a block in x."),
            Column("block_y", _I, "Threads of a block in y."),
            Column("block_z", _I, "Threads of a block in z."),
            Column("metric", _S, "Name of the counter."),
            Column(
                "unit", _S, "Unit of the value: byte, ns, hz, byte/s, never scaled."
            ),
            Column("value", _D, "The value."),
            Column(
                "launches", _L, "Launches that the value is the mean of; NULL for one."
            ),
            Column("minimum", _D, "Smallest value of those launches."),
            Column("maximum", _D, "Largest value of those launches."),
            Column("passes", _I, "Replays that were needed."),
            Column("tool", _S, "Who measured: ncu, nvprof."),
        ),
    ),
    Table(
        "reported_total",
        "a line of a summary that the profiler made itself",
        (
            Column("category", _S, "Group of the line, such as operator."),
            Column("name", _S, "What was added up."),
            Column("unit", _S, "Unit of the values: ns or B; NULL for plain numbers."),
            Column("count", _L, "Calls or samples."),
            Column("total", _D, "Their sum; NULL where it makes no sense."),
            Column("minimum", _D, "The least."),
            Column("maximum", _D, "The greatest."),
            Column("mean", _D, "Their mean."),
            Column("standard_deviation", _D, "Their standard deviation."),
        ),
    ),
    Table(
        "os_call",
        "a call of the operating system's runtime libraries",
        (
            _PROCESS,
            _THREAD,
            Column("name", _S, "Function, such as pthread_cond_wait."),
            *_interval("the call"),
            Column("return_value", _L, "Result."),
            Column("nesting_level", _I, "Depth among traced calls; 0 is outermost."),
            _STACK,
        ),
        time="start_ns",
    ),
    Table(
        "cpu_slice",
        "a span in which a thread ran on a CPU core",
        (
            _HOST,
            Column("cpu", _I, "CPU core."),
            _PROCESS,
            _THREAD,
            *_interval("the thread ran"),
            Column("end_state", _S, "State of the thread when it was taken off."),
        ),
        scope=Scope.HOST,
        time="start_ns",
    ),
    Table(
        "cpu_sample",
        "a sample of a thread's call stack",
        (
            _PROCESS,
            _THREAD,
            Column("cpu", _I, "CPU core."),
            _instant("the sample was taken"),
            _STACK,
        ),
        time="time_ns",
    ),
    Table(
        "call_stack",
        "a frame of a call stack",
        (
            _STACK,
            Column("depth", _I, "Distance from the innermost frame, which is 0."),
            Column("symbol", _S, "Function."),
            Column("module", _S, "Library or program it is in."),
            Column("file", _S, "Source file, where that is recorded."),
            Column("line", _I, "Line of that file."),
        ),
    ),
    Table(
        "overhead",
        "a span that the profiler itself cost",
        (
            _PROCESS,
            _THREAD,
            _CORRELATION,
            Column("kind", _S, "What was done, in the profiler's words."),
            *_interval("it"),
        ),
        time="start_ns",
    ),
    Table(
        "clock",
        "the clock of a rank against that of the run",
        (
            _HOST,
            Column("offset_ns", _L, "Added to the rank's times.", "ns"),
            Column("method", _S, "recorded, utc or collectives."),
            Column(
                "residual_ns",
                _L,
                "Median distance of its collectives' ends from those of all ranks.",
                "ns",
            ),
        ),
    ),
    Table(
        "run_fact",
        "a fact about the run as a key and a value",
        (
            Column("key", _S, "Such as driver_version or env.WORLD_SIZE."),
            Column("value", _S, "Its value."),
            Column("source", _S, "Where the capture says it."),
        ),
    ),
    Table(
        "rejected",
        "a row of the capture that no metric counts, with the reason",
        (
            Column("table_name", _S, "Table it would have gone to."),
            Column("reason", _S, "Why it was left out."),
            Column("start_ns", _L, "Its start as recorded.", "ns"),
            Column("end_ns", _L, "Its end as recorded.", "ns"),
            Column("name", _S, "Its name, where it has one."),
        ),
    ),
    Table(
        "diagnostic",
        "a message of the profiler or of the converter",
        (
            _instant("it was said"),
            Column("severity", _S, "info, warning or error."),
            Column("source", _S, "profiler or converter."),
            Column("text", _S, "The message."),
            _PROCESS,
        ),
        time="time_ns",
    ),
)

TABLES: Mapping[str, Table] = MappingProxyType({table.name: table for table in _ALL})
