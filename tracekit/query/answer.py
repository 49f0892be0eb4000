"""The answer to a query."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Answer:
    """A table, and what one must know to read it.

    Attributes:
        table: The rows; columns as the module's header says, with `run_id` and `rank`
            before them where several runs or ranks were asked.
        membership: Which rows or which part of them the window took, or None.
        reasons: Why the answer, or a part of it, is empty.
    """

    table: pa.Table
    membership: str | None = None
    reasons: tuple[str, ...] = ()
