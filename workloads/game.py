"""Two small games for A3C, played frame by frame on the CPU.

`paddle` stands for an Atari game: the picture of 160x210 points is drawn, four frames
a move, and shrunk to 84x84, all in Python, so that playing costs what it cost the
paper's actors. `button` rewards one action whatever is seen: what should be learnt is
known. Runs in Python 3.6 and later, with the standard library only.
"""

import random

FRAME = 84
ACTIONS = 4
REWARDED = 2
_WIDTH, _HEIGHT, _SKIP = 160, 210, 4
_PADDLE = 24


class Button:
    """Nothing happens but a reward for action 2."""

    def __init__(self, seed: int) -> None:
        self._frame = bytes(random.Random(seed).randrange(256) for _ in range(FRAME**2))

    def frame(self) -> bytes:
        """Return the picture, 84x84 bytes, row by row."""
        return self._frame

    def act(self, action: int) -> "tuple[float, bool]":
        """Play a move; return the reward and whether the game is over."""
        return float(action == REWARDED), False


class Paddle:
    """A ball falls, a paddle catches it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._begin()

    def _begin(self) -> None:
        self._paddle = _WIDTH // 2
        self._ball = [float(self._random.randrange(8, _WIDTH - 8)), 0.0]
        self._speed = [self._random.uniform(-2, 2), 3.0]

    def act(self, action: int) -> "tuple[float, bool]":
        """Play a move of four frames; return the reward and whether it is over."""
        self._pictures = []
        for _ in range(_SKIP):
            self._paddle += (0, -3, 3, 0)[action]
            self._paddle = max(0, min(_WIDTH - _PADDLE, self._paddle))
            self._ball = [self._ball[axis] + self._speed[axis] for axis in (0, 1)]
            if not 2 <= self._ball[0] < _WIDTH - 2:
                self._speed[0] = -self._speed[0]
                self._ball[0] = max(2.0, min(_WIDTH - 3.0, self._ball[0]))
            self._pictures.append(self._draw())
        if self._ball[1] < _HEIGHT - 12:
            return 0.0, False
        caught = self._paddle <= self._ball[0] < self._paddle + _PADDLE
        self._begin()
        return (1.0 if caught else -1.0), True

    def _draw(self) -> bytearray:
        picture = bytearray(_WIDTH * _HEIGHT)
        left, top = int(self._ball[0]), min(_HEIGHT - 4, int(self._ball[1]))
        for row in range(top, top + 4):
            picture[row * _WIDTH + left : row * _WIDTH + left + 2] = b"\xff\xff"
        for row in range(_HEIGHT - 8, _HEIGHT - 4):
            begin = row * _WIDTH + self._paddle
            picture[begin : begin + _PADDLE] = b"\x80" * _PADDLE
        return picture

    def frame(self) -> bytes:
        """Return the last two pictures as one, shrunk to 84x84 bytes."""
        newest = getattr(self, "_pictures", [self._draw()])
        last, before = newest[-1], newest[-2 if len(newest) > 1 else -1]
        columns = [column * _WIDTH // FRAME for column in range(FRAME)]
        shrunk = bytearray()
        for row in range(FRAME):
            base = row * _HEIGHT // FRAME * _WIDTH
            shrunk += bytes(
                max(last[base + column], before[base + column]) for column in columns
            )
        return bytes(shrunk)


GAMES = {"button": Button, "paddle": Paddle}
