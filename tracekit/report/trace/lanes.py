"""Spreads slices that cross each other over several tracks."""


class Lanes:
    """The lanes of one track; slices come in order of start, the longer first.

    Attributes:
        nests: Whether a slice may lie inside of another on one lane.
    """

    def __init__(self, *, nests: bool) -> None:
        self.nests = nests
        self._open: list[list[int]] = []

    def place(self, start_ns: int, end_ns: int) -> int:
        """Return the first lane in which a slice crosses no other."""
        for number, ends in enumerate(self._open):
            while ends and ends[-1] <= start_ns:
                ends.pop()
            if not ends or (self.nests and end_ns <= ends[-1]):
                ends.append(end_ns)
                return number
        self._open.append([end_ns])
        return len(self._open) - 1
