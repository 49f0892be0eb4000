"""The readers, in the order in which they are asked."""

from pathlib import Path

from tracekit.convert.readers.base import Reader
from tracekit.convert.readers.cntk import CntkReader
from tracekit.convert.readers.cntk_summary import CntkSummaryReader
from tracekit.convert.readers.cupti import CuptiReader
from tracekit.convert.readers.kineto import KinetoReader
from tracekit.convert.readers.mxnet import MxnetReader
from tracekit.convert.readers.mxnet_totals import MxnetTotalsReader
from tracekit.convert.readers.ncu_csv import NcuCsvReader
from tracekit.convert.readers.ncu_report import NcuReportReader
from tracekit.convert.readers.nsys_columnar import NsysColumnarReader
from tracekit.convert.readers.nsys_report import NsysReportReader
from tracekit.convert.readers.nsys_sqlite import NsysSqliteReader
from tracekit.convert.readers.nvprof_csv import NvprofCsvReader
from tracekit.convert.readers.nvprof_sqlite import NvprofSqliteReader
from tracekit.convert.readers.rocpd import RocpdReader
from tracekit.convert.readers.rocprofv3_json import Rocprofv3JsonReader
from tracekit.convert.readers.samples import SamplesReader
from tracekit.convert.readers.tensorflow_trace import TensorflowTraceReader
from tracekit.convert.readers.torch_execution_trace import TorchExecutionTraceReader
from tracekit.convert.readers.torch_memory import TorchMemoryReader
from tracekit.convert.readers.torch_memory_timeline import (
    TorchMemoryTimelineReader,
)
from tracekit.convert.readers.torch_snapshot import TorchSnapshotReader
from tracekit.convert.readers.workload import WorkloadReader
from tracekit.convert.readers.xplane import XPlaneReader
from tracekit.convert.refusal import refusal

READERS: tuple[Reader, ...] = (
    # Before those of JSON, which it is line by line.
    SamplesReader(),
    NsysSqliteReader(),
    NsysColumnarReader(),
    NsysReportReader(),
    NcuReportReader(),
    KinetoReader(),
    # After Kineto, whose traces begin with a line break as an XSpace may: to tell, this
    # one reads the file whole.
    CuptiReader(),
    XPlaneReader(),
    TensorflowTraceReader(),
    MxnetReader(),
    MxnetTotalsReader(),
    CntkReader(),
    CntkSummaryReader(),
    NvprofSqliteReader(),
    Rocprofv3JsonReader(),
    RocpdReader(),
    NcuCsvReader(),
    NvprofCsvReader(),
    TorchExecutionTraceReader(),
    TorchMemoryReader(),
    TorchSnapshotReader(),
    TorchMemoryTimelineReader(),
    WorkloadReader(),
)


def find_reader(capture: Path) -> Reader | None:
    """Return the first reader that accepts `capture`, or None."""
    return next((reader for reader in READERS if reader.accepts(capture)), None)


def reader_for(capture: Path) -> Reader:
    """Return the first reader that accepts `capture`.

    Raises:
        UnreadableTraceError: None does.
    """
    reader = find_reader(capture)
    if reader is not None:
        return reader
    raise refusal(capture)
