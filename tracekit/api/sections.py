"""The sections of a report, top down, and the queries that each shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """A query of a section.

    Attributes:
        query: Its name.
        title: What a reader looks for in it.
        parameters: Parameters that differ from their defaults.
        window: The window, or None for the query's own.
    """

    query: str
    title: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    window: str | None = None


@dataclass(frozen=True)
class Outline:
    """A section before its queries are asked.

    Attributes:
        key: Short name, which is its anchor too.
        title: Its heading.
        about: What it says.
        asked: Its queries.
        areas: Areas whose other queries are shown as well.
        collect: What records the data, where none of it is there.
        most_rows: Kernels and calls of a run above which the queries of `areas` take
            too long for a report; None for any number.
    """

    key: str
    title: str
    about: str
    asked: tuple[Asked, ...]
    areas: tuple[str, ...] = ()
    collect: str = ""
    most_rows: int | None = None


_MANY = {"limit": "200"}
_SOME = {"limit": "50"}
_NSYS = "tracekit collect -o RUN -- CMD... records it with Nsight Systems"
_STEPS = (
    "Mark each iteration with an NVTX range (iteration N, step N) or ProfilerStep, "
    "or record enough repetitions for tracekit to detect them"
)
_COUNTERS = (
    "Hardware counters: tracekit collect --with ncu, then "
    "tracekit convert TIMELINE COUNTERS -o RUN joins them"
)

OUTLINE: tuple[Outline, ...] = (
    Outline(
        "quality",
        "How far the capture can be trusted",
        "Checks of what was recorded. A number below rests on data that passed them, "
        "or says what limits it.",
        (Asked("quality.capture", "Checks"),),
    ),
    Outline(
        "paper",
        "The metrics of the TBD paper",
        "Throughput, GPU compute utilization, FP32 utilization, CPU utilization and "
        "memory, each with its source and the window it was taken over.",
        (Asked("tbd.summary", "Metrics"),),
    ),
    Outline(
        "utilization",
        "GPU utilization over time",
        "The part of the time in which kernels, or any work, ran on each GPU: unions "
        "of intervals, never sums.",
        (
            Asked("gpu.utilization", "Each GPU"),
            Asked("gpu.timeline", "Over time", {"bins": "100"}),
        ),
        collect=_NSYS,
    ),
    Outline(
        "steps",
        "Training steps",
        "How long each step took; the stable ones are those that count.",
        (
            Asked("steps.stability", "Stable steps"),
            Asked("steps.summary", "Each step"),
        ),
        collect=_STEPS,
    ),
    Outline(
        "step-breakdown",
        "What the steps' time went to",
        "The parts of each step, which add up to its duration.",
        (
            Asked("steps.breakdown", "Each step"),
            Asked("steps.data_wait", "Loading of data"),
        ),
        collect=_STEPS,
    ),
    Outline(
        "kernels",
        "Kernel hotspots",
        "The kernels that take most of the GPU's time. Times are summed over launches.",
        (Asked("kernels.hotspots", "Kernels", _MANY),),
        collect=_NSYS,
    ),
    Outline(
        "categories",
        "Kernel categories",
        "The same time by what kernels do.",
        (Asked("kernels.by_category", "Categories"),),
        collect=_NSYS,
    ),
    Outline(
        "compute",
        "FP32, tensor cores and the roofline",
        "How much of the arithmetic peak was reached. Counters, operator shapes and "
        "sampled pipe activity are three sources, and are never mixed.",
        (
            Asked("compute.fp32_utilization", "FP32 utilization, by counters"),
            Asked("compute.pipes", "Pipes, by counters"),
            Asked("compute.roofline", "Roofline, by counters", _SOME),
            Asked("tbd.longest_low_fp32_kernels", "Long kernels that idle FP32 units"),
            Asked("tbd.longest_high_fp32_kernels", "Long kernels that use FP32 units"),
            Asked("compute.pipe_active", "Pipes, by sampled metrics"),
            Asked("compute.model_flops_utilization", "Model FLOP utilization"),
            Asked("compute.tensor_core_use", "Use of tensor cores", _SOME),
        ),
        collect=_COUNTERS,
    ),
    Outline(
        "overlap",
        "CPU and GPU at once",
        "Four parts that add up to the window. With basis `api` a call that waits "
        "counts as work of the CPU; with `api_working` it does not.",
        (
            Asked("overlap.cpu_gpu", "All API calls", {"basis": "api"}),
            Asked("overlap.cpu_gpu", "Without waiting", {"basis": "api_working"}),
        ),
        collect=_NSYS,
    ),
    Outline(
        "idle",
        "Why the GPU did not compute",
        "Each instant without a kernel has one cause; the causes add up.",
        (
            Asked("gpu.idle_attribution", "Causes"),
            Asked("gpu.idle_gaps", "Longest gaps"),
        ),
        collect=_NSYS,
    ),
    Outline(
        "launches",
        "Launch latency",
        "From the API call to the start of its work. A long wait behind other work is "
        "no fault; a short kernel that takes less time than its launch is.",
        (
            Asked("launches.latency", "Latency by call"),
            Asked("launches.short_kernels", "Shorter than their launch"),
            Asked("launches.graphs", "CUDA graphs"),
        ),
        collect=_NSYS,
    ),
    Outline(
        "ranges",
        "Annotated ranges",
        "NVTX ranges and record_function, on the host and projected to the GPU.",
        (
            Asked("annotations.gpu_projection", "GPU work of ranges", _SOME),
            Asked("annotations.summary", "On the host", _SOME),
        ),
        collect="Annotate the program: torch.cuda.nvtx.range_push, "
        "torch.profiler.record_function, nvtx.annotate",
    ),
    Outline(
        "operators",
        "Framework operators",
        "Time of the framework's operators on the host, and of what they launched.",
        (Asked("operators.hotspots", "Operators", _SOME),),
        collect="tracekit collect --with torch, or torch.profiler with "
        "ProfilerActivity.CPU",
    ),
    Outline(
        "copies",
        "Copies",
        "Time and size of copies and fills, and how much hides behind kernels.",
        (
            Asked("copies.by_time", "By kind"),
            Asked("overlap.copy_compute", "Hidden behind kernels"),
        ),
        collect=_NSYS,
    ),
    Outline(
        "memory",
        "Memory",
        "What was allocated, by class, over time and at the moment of the peak.",
        (),
        areas=("memory",),
        collect="tracekit collect --memory, or torch.cuda.memory._dump_snapshot",
    ),
    Outline(
        "communication",
        "Communication and stragglers",
        "Collective operations, what of them is exposed, and which rank is waited for.",
        (
            Asked("overlap.comm_compute", "Exposed communication"),
            Asked("collectives.summary", "Collectives"),
        ),
        areas=("ranks",),
        collect="Profile every rank of a job; NCCL's sizes come with NVTX payloads "
        "of NCCL or the PyTorch profiler",
    ),
    Outline(
        "critical-path",
        "Critical path and what if",
        "The chain of work that the time depends on, and what shortening it would do.",
        (),
        areas=("critical_path", "whatif"),
        collect=_NSYS,
        most_rows=300_000,
    ),
    Outline(
        "host",
        "Calls that cost the host",
        "API calls by time, and those that cost more than they need to.",
        (
            Asked("api.expensive", "Avoidable calls"),
            Asked("api.summary", "API calls", _SOME),
            Asked("cpu.utilization", "CPU utilization"),
        ),
        collect=_NSYS,
    ),
    Outline(
        "findings",
        "Findings",
        "The recommendations of the paper as rules: whether each holds here, the "
        "number it rests on, and the query that shows it.",
        (Asked("tbd.observations", "Rules"),),
    ),
)
