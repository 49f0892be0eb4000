"""Call stacks: three export tables with ids of their own become one.

SAMPLING_CALLCHAINS, CUDA_CALLCHAINS and OSRT_CALLCHAINS each number their chains from
1. Here chain n of table k is 3 n + k.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.convert.narrowing import narrow
from tracekit.convert.nsys.export import Export
from tracekit.convert.nsys.strings import Strings

TABLES = ("SAMPLING_CALLCHAINS", "CUDA_CALLCHAINS", "OSRT_CALLCHAINS")
_COLUMNS = ("id", "stackDepth", "symbol", "module")


class Stacks:
    """The call chains of an export."""

    def __init__(self, export: Export, strings: Strings) -> None:
        self._export = export
        self._strings = strings
        self._shift = dict.fromkeys(TABLES, 0)
        if _counts_from_zero(export):
            self._shift["CUDA_CALLCHAINS"] = 1

    def column(self, chains: pa.Array, table: str) -> pa.Array:
        """Map references to chains of `table` to call_stack_id; 0 is none."""
        chains = pc.add(chains, self._shift[table])
        nothing = pa.scalar(None, chains.type)
        chains = pc.if_else(pc.equal(chains, 0), nothing, chains)
        return _stack_id(chains, table)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the frames: call_stack_id, depth, symbol, module."""
        wanted = pa.schema([(name, pa.int64()) for name in _COLUMNS])
        for table in TABLES:
            if not set(_COLUMNS) <= self._export.columns(table):
                continue
            for batch in self._export.batches(table, wanted):
                yield pa.RecordBatch.from_arrays(
                    [
                        _stack_id(batch.column("id"), table),
                        narrow(batch.column("stackDepth"), pa.int32()),
                        self._strings.column(batch.column("symbol")),
                        self._strings.column(batch.column("module")),
                    ],
                    ["call_stack_id", "depth", "symbol", "module"],
                )


def _stack_id(chains: pa.Array, table: str) -> pa.Array:
    return pc.add(pc.multiply(chains, len(TABLES)), TABLES.index(table))


def _counts_from_zero(export: Export) -> bool:
    """Tell whether API calls refer to chain n by n - 1, as nsys 2022.2 writes it.

    Seen in a real export: 38 chains, numbered 1 to 38, are referred to as 0 to 37,
    and the frames fit the calls only so.
    """
    runtime, chains = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUDA_CALLCHAINS"
    if "callchainId" not in export.columns(runtime) or not export.count(chains):
        return False
    referred = _numbers(export, runtime, "callchainId")
    numbered = _numbers(export, chains, "id")
    return bool(referred) and referred == {number - 1 for number in numbered}


def _numbers(export: Export, table: str, column: str) -> set[int]:
    found: set[int | None] = set()
    for batch in export.batches(table, pa.schema([(column, pa.int64())])):
        found.update(batch.column(0).unique().to_pylist())
    return {number for number in found if number is not None}
