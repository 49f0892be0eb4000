"""MXNet's profiler, driven by `profiler.py`."""

# What numpy 1.24 took away, and MXNet 1.9.1 uses.
_ALIASES = {
    "bool": bool,
    "object": object,
    "int": int,
    "float": float,
    "complex": complex,
    "str": str,
}


def prepare() -> None:
    """Give numpy the names back without which MXNet cannot be imported."""
    import numpy

    for name, kind in _ALIASES.items():
        if name not in numpy.__dict__:
            setattr(numpy, name, kind)


class Profiler:
    """Records with `mxnet.profiler`."""

    def __init__(self, settings: object, mxnet: object) -> None:
        self._mxnet = mxnet
        self._path = settings.path(".mxnet.json")
        self._marks = mxnet.profiler.Domain("tracekit")
        self._number = settings.first or 0
        self._task = None
        mxnet.profiler.set_config(
            # Each of them is on unless it is switched off.
            profile_symbolic=True,
            profile_imperative=True,
            profile_memory=settings.has("profile_memory"),
            profile_api=settings.has("profile_api"),
            aggregate_stats=False,
            filename=self._path,
        )

    def watch_steps(self, step: object) -> None:
        """Call `step` after each update of Gluon's trainer, and of the module API."""
        mxnet = self._mxnet
        _follow(mxnet.gluon.Trainer, "step", step)
        # What clips or gathers gradients updates by itself.
        _follow(mxnet.gluon.Trainer, "update", step)
        _follow(mxnet.module.Module, "update", step)

    def warm_up(self) -> None:
        """Do nothing: it has no warm-up of its own."""

    def start(self) -> None:
        """Record from now on."""
        self._mxnet.nd.waitall()
        self._mxnet.profiler.set_state("run")

    def stop(self) -> "list[str]":
        """Stop, and return the captures."""
        self._mxnet.nd.waitall()
        self._mxnet.profiler.set_state("stop")
        self._mxnet.profiler.dump()
        return [self._path]

    def open_step(self) -> None:
        """Mark that a step begins."""
        self._task = self._marks.new_task(f"step{self._number}")
        self._task.start()
        self._number += 1

    def close_step(self) -> None:
        """Mark that the step has ended, and with it what the engine does for it."""
        self._mxnet.nd.waitall()
        self._task.stop()


def _follow(kind: type, name: str, after: object) -> None:
    call = getattr(kind, name)

    def followed(*arguments: object, **named: object) -> object:
        result = call(*arguments, **named)
        after()
        return result

    setattr(kind, name, followed)
