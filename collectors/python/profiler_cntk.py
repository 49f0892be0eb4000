"""CNTK's profiler, driven by `profiler.py`."""

import os


def prepare() -> None:
    """Do what must be done before the import."""


class Profiler:
    """Records with `cntk.debugging`: minibatches, no operators."""

    def __init__(self, settings: object, cntk: object) -> None:
        import cntk.debugging as debugging

        self._cntk = cntk
        self._debugging = debugging
        self._folder = settings.path(".cntk")

    def watch_steps(self, step: object) -> None:
        """Call `step` after each minibatch that is trained."""
        trainer = self._cntk.Trainer
        call = trainer.train_minibatch

        def train(*arguments: object, **named: object) -> object:
            result = call(*arguments, **named)
            step()
            return result

        trainer.train_minibatch = train

    def warm_up(self) -> None:
        """Do nothing: it has no warm-up of its own."""

    def start(self) -> None:
        """Record from now on."""
        os.makedirs(self._folder, exist_ok=True)
        self._debugging.start_profiler(self._folder, sync_gpu=True)
        self._debugging.enable_profiler()

    def open_step(self) -> None:
        """Do nothing: the profiler marks minibatches itself."""

    def close_step(self) -> None:
        """Do nothing: the profiler marks minibatches itself."""

    def stop(self) -> "list[str]":
        """Stop, and return the captures."""
        self._debugging.stop_profiler()
        names = sorted(os.listdir(self._folder))
        return [os.path.join(self._folder, n) for n in names if n.endswith(".json")]
