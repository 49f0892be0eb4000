"""TensorFlow's profiler (XPlane), driven by `profiler.py`."""

import os


def prepare() -> None:
    """Do what must be done before the import."""


class Profiler:
    """Records with `tf.profiler.experimental`, from TensorFlow 2.2 on."""

    def __init__(self, settings: object, tensorflow: object) -> None:
        self._api = tensorflow.profiler.experimental
        self._tensorflow = tensorflow
        self._folder = settings.path(".xplane")

    def watch_steps(self, step: object) -> None:
        """Call `step` after each batch of `Model.fit`, or each step that is marked.

        A function that TensorFlow has traced calls no Python, so that an update of the
        optimizer cannot be counted.
        """
        marked = self._api.Trace
        leave = marked.__exit__

        def exit_(trace: object, *error: object) -> object:
            result = leave(trace, *error)
            if "step_num" in getattr(trace, "tracekit_named", ()):
                step()
            return result

        make = marked.__init__

        def init(trace: object, name: str, **named: object) -> None:
            trace.tracekit_named = named
            make(trace, name, **named)

        marked.__init__, marked.__exit__ = init, exit_
        keras = self._tensorflow.keras
        fit = keras.Model.fit
        api = self._api

        class Steps(keras.callbacks.Callback):
            """Marks and counts the batches of a training."""

            def __init__(self) -> None:
                super().__init__()
                self._count = 0
                self._mark = None

            def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
                self._mark = api.Trace("train", step_num=self._count, _r=1)
                self._mark.__enter__()

            def on_train_batch_end(self, batch: int, logs: object = None) -> None:
                self._count += 1
                self._mark.__exit__(None, None, None)

        def fitted(model: object, *arguments: object, **named: object) -> object:
            callbacks = named.get("callbacks") or []
            if isinstance(callbacks, (list, tuple)) and len(arguments) < 6:
                named["callbacks"] = [*callbacks, Steps()]
            return fit(model, *arguments, **named)

        keras.Model.fit = fitted

    def warm_up(self) -> None:
        """Do nothing: it has no warm-up of its own."""

    def start(self) -> None:
        """Record from now on."""
        # Options of levels are refused with a warning by newer versions.
        self._api.start(self._folder)

    def open_step(self) -> None:
        """Do nothing: steps are marked where they are counted."""

    def close_step(self) -> None:
        """Do nothing: steps are marked where they are counted."""

    def stop(self) -> "list[str]":
        """Stop, and return the captures."""
        self._api.stop()
        return [
            os.path.join(folder, name)
            for folder, _, names in sorted(os.walk(self._folder))
            for name in sorted(names)
            if name.endswith(".xplane.pb")
        ]
