"""Why a table of a run is empty: three different answers.

Not traced, traced and nothing came, or the capture failed. nsys makes a table when the
first event of it comes, so that a missing table alone says none of them.
"""

from tracekit.convert.nsys.export import Export, resolve
from tracekit.convert.nsys.tables import EVENT_TABLES
from tracekit.convert.readers.base import CaptureLog

_CUDA_TABLES = ("kernel", "memcpy", "memset", "api_call", "sync")
_GPU_TABLES = frozenset({"kernel", "memcpy", "memset", "graph_launch"})
_NOT_BY_NSYS = (
    "operator",
    "flow",
    "module",
    "python_function",
    "memory_segment",
)
# Read elsewhere than by EVENT_TABLES.
_OTHER_EVENTS = (
    ("NVTX_EVENTS", "annotation"),
    ("GPU_METRICS", "counter_sample"),
    ("GENERIC_EVENTS", "counter_sample"),
    ("NET_NIC_METRIC", "counter_sample"),
    ("SCHED_EVENTS", "cpu_slice"),
    ("COMPOSITE_EVENTS", "cpu_sample"),
)
_ERROR = 3


def explain_absence(
    export: Export, seen: frozenset[str], tables: frozenset[str], log: CaptureLog
) -> None:
    """Say why a wanted table has no rows: not traced, or traced and none came.

    Args:
        export: The export.
        seen: The tables that have rows.
        tables: The tables that are wanted.
        log: Takes the reasons, and a message where there is no GPU work at all.
    """
    traced = log.settings.get("capture_event_type")
    reasons = dict.fromkeys(_NOT_BY_NSYS, "Nsight Systems does not record it")
    reasons["kernel_metric"] = (
        "a second run reads counters: tracekit collect --counters"
    )
    for name in _CUDA_TABLES:
        reasons[name] = _reason(traced, "Cuda", "CUDA", "-t cuda")
    reasons["annotation"] = _reason(traced, "NvtxEvents", "NVTX", "-t nvtx")
    reasons["os_call"] = _reason(traced, "OSRuntime", "OS runtime", "-t osrt")
    reasons["memory_event"] = "recorded with nsys profile --cuda-memory-usage=true"
    reasons["cuda_event"] = "recorded with nsys profile --cuda-event-trace=true"
    reasons["counter_sample"] = "recorded with nsys profile --gpu-metrics-devices=all"
    reasons["cpu_sample"] = "recorded with nsys profile --sample=process-tree"
    reasons["cpu_slice"] = "recorded with nsys profile --cpuctxsw=process-tree"
    reasons["collective"] = "recorded where NCCL's NVTX payloads are exported"
    reasons["library_call"] = "recorded with nsys profile -t cudnn,cublas,mpi,ucx"
    if "graph_launch" in seen and "kernel" not in seen:
        reasons["kernel"] = (
            "CUDA graphs were traced as a whole: use nsys profile "
            "--cuda-graph-trace=node"
        )
    for name in sorted(tables - seen):
        if name in reasons:
            log.absent.setdefault(name, reasons[name])
    if not _GPU_TABLES & seen and tables >= _GPU_TABLES:
        _explain_no_gpu_work(export, reasons["kernel"], log)


def _explain_no_gpu_work(export: Export, reason: str, log: CaptureLog) -> None:
    recorded = _recorded(export)
    if not recorded:
        log.diagnose(
            "error",
            "the capture failed or recorded nothing: it holds no event of any kind"
            + _said(export),
        )
    elif recorded == {"annotation"}:
        log.diagnose(
            "warning", f"no GPU activity: the capture holds NVTX events alone; {reason}"
        )
    elif "api_call" in recorded:
        log.diagnose(
            "warning",
            "no GPU activity, though CUDA was called: the driver may be too new for "
            "that nsys, or the process ended before nsys had its records"
            + _said(export),
        )
    else:
        held = ", ".join(sorted(recorded))
        log.diagnose("warning", f"no GPU activity, only {held}: {reason}")


def _recorded(export: Export) -> set[str]:
    """Return the normalized tables that the export has events for."""
    sources = [(table.source, table.target) for table in EVENT_TABLES]
    return {
        target
        for source, target in (*sources, *_OTHER_EVENTS)
        if next(export.rows(resolve(export, source)), None) is not None
    }


def _said(export: Export) -> str:
    """Return the first error that the profiler itself noted."""
    for row in export.rows("DIAGNOSTIC_EVENT", "severity", frozenset({_ERROR})):
        if row.get("text"):
            return f"; nsys said: {row['text']}"
    return ""


def _reason(traced: str | None, kind: str, what: str, option: str) -> str:
    if traced is None:
        return f"the export holds none and does not say whether {what} was traced"
    if kind in traced.split(","):
        return f"{what} was traced, and none was recorded"
    return f"{what} was not traced: use nsys profile {option}"
