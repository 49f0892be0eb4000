"""The contract between the loop and a model.

Runs in Python 3.6 and later, with the standard library only.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class Training:
    """One model in training; a context manager, for those that start processes."""

    def step(self, number: int) -> "tuple[float, object]":
        """Train one iteration.

        Args:
            number: The iteration, from 0.

        Returns:
            The samples that it processed, and its loss as the framework's scalar,
            which nothing has waited for.
        """
        raise NotImplementedError

    def measures(self) -> "dict[str, float]":
        """Return what besides the loss tells whether it learns."""
        return {}

    def facts(self) -> "dict[str, object]":
        """Return what is to be known of this training, as facts of the record."""
        return {}

    def __enter__(self) -> "Training":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        """End what was started."""
