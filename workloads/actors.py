"""Processes that play games for A3C, each several of them.

They leave their pictures in memory that all share, and wait for actions. Runs in Python
3.6 and later, with the standard library only.
"""

import multiprocessing
from typing import TYPE_CHECKING

from game import FRAME, GAMES

if TYPE_CHECKING:
    from types import TracebackType

HISTORY = 4
_PICTURE = FRAME * FRAME
_PATIENCE_S = 60


class Actors:
    """Games in processes of their own; a context manager.

    Attributes:
        frames: The last four pictures of each game, (game, picture, 84, 84) bytes,
            the newest last.
    """

    def __init__(self, game: str, games: int, processes: int, seed: int) -> None:
        # A copy of a process that has used CUDA cannot use it.
        context = multiprocessing.get_context("spawn")
        self.frames = context.RawArray("B", games * HISTORY * _PICTURE)
        self._pipes = []
        self._processes = []
        processes = min(processes, games)
        for place in range(processes):
            mine = range(place * games // processes, (place + 1) * games // processes)
            pipe, far_end = context.Pipe()
            process = context.Process(
                target=_play,
                args=(game, mine.start, mine.stop, seed, self.frames, far_end),
                daemon=True,
            )
            process.start()
            far_end.close()
            self._pipes.append((pipe, mine))
            self._processes.append(process)

    def __enter__(self) -> "Actors":
        self._answers()
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        for pipe, _ in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(_PATIENCE_S)

    def act(self, actions: "list[int]") -> "tuple[list[float], list[bool]]":
        """Play one move in every game; return the rewards and which are over."""
        for pipe, mine in self._pipes:
            pipe.send(actions[mine.start : mine.stop])
        moves = self._answers()
        return [reward for reward, _ in moves], [over for _, over in moves]

    def _answers(self) -> "list[tuple[float, bool]]":
        found = []
        for pipe, _ in self._pipes:
            if not pipe.poll(_PATIENCE_S):
                raise RuntimeError("an actor does not answer")
            found += pipe.recv()
        return found


def _play(game, first, last, seed, frames, pipe) -> None:  # noqa: ANN001 - of a process
    games = [GAMES[game](seed * 1000 + number) for number in range(first, last)]
    shown = memoryview(frames).cast("B")
    for number, one in enumerate(games, first):
        for age in range(HISTORY):
            _show(shown, number, age, one.frame())
    pipe.send([])
    while True:
        try:
            actions = pipe.recv()
        except EOFError:
            return
        moves = []
        for number, (one, action) in enumerate(zip(games, actions), first):
            reward, over = one.act(action)
            base = number * HISTORY * _PICTURE
            older = bytes(shown[base + _PICTURE : base + HISTORY * _PICTURE])
            shown[base : base + len(older)] = older
            _show(shown, number, HISTORY - 1, one.frame())
            moves.append((reward, over))
        pipe.send(moves)


def _show(shown: memoryview, game: int, age: int, picture: bytes) -> None:
    base = (game * HISTORY + age) * _PICTURE
    shown[base : base + _PICTURE] = picture
