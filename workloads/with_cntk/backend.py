"""What all workloads in CNTK share: device, marks, updates."""

import contextlib
from typing import TYPE_CHECKING

import cntk
import numpy as np
from marks import Marks, start_profiler, stop_profiler
from training import Training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from options import Options


class Backend:
    """CNTK on one device.

    Attributes:
        device_name: Its name for people.
        version: The framework's name and version.
        seed: Seed of everything.
        numbers: Random numbers of the data.
    """

    def __init__(self, options: "Options") -> None:
        gpus = [d for d in cntk.all_devices() if d.type() == cntk.DeviceKind.GPU]
        if options.device == "cuda" and not gpus:
            raise LookupError("CNTK sees no GPU; --device cpu trains without")
        if options.precision not in ("fp32", "tf32"):
            raise LookupError(
                f"the workloads in CNTK have no {options.precision}: use fp32"
            )
        on_gpu = options.device != "cpu" and bool(gpus)
        cntk.try_set_default_device(cntk.gpu(0) if on_gpu else cntk.cpu())
        cntk.logging.set_trace_level(cntk.logging.TraceLevel.Error)
        self.device_name = "the GPU" if on_gpu else "the CPU"
        self.version = f"CNTK {cntk.__version__}"
        self.seed = options.seed
        cntk.cntk_py.set_fixed_random_seed(self.seed)
        self.numbers = np.random.RandomState(self.seed)
        self._marks = Marks()

    def facts(self) -> "dict[str, object]":
        """Return what is worth to be known of a result."""
        return {"framework_version": cntk.__version__, "device": self.device_name}

    @contextlib.contextmanager
    def iteration(self, number: int) -> "Iterator[None]":
        """Mark an iteration by an NVTX range; CNTK's profiler marks it itself."""
        self._marks.push(f"iteration {number}")
        try:
            yield
        finally:
            self._marks.pop()

    def pace(self, loss: float) -> None:
        """Nothing is left to wait for: CNTK gave the loss as a number."""

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def value(self, loss: float) -> float:
        """Return a loss as a number."""
        return loss

    def start_profiler(self) -> None:
        """Tell a profiler that waits for it to start."""
        start_profiler()

    def stop_profiler(self) -> None:
        """Tell the profiler to stop."""
        stop_profiler()

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Tell whether the error says that the memory did not suffice."""
        return isinstance(error, MemoryError) or any(
            text in str(error) for text in ("out of memory", "cudaMalloc", "bad_alloc")
        )


class ImageTraining(Training):
    """A classifier in training by SGD with momentum; a sample is an image.

    Args:
        make: Makes the network of a variable with the images; it gives scores.
        sizes: The settings of the workload.
        backend: Where it runs.
    """

    def __init__(self, make: object, sizes: dict, backend: Backend) -> None:
        self._count = sizes["batch_size"]
        side, classes = sizes["image_size"], sizes["classes"]
        images = cntk.input_variable((3, side, side))
        labels = cntk.input_variable(classes)
        scores = make(images)
        loss = cntk.cross_entropy_with_softmax(scores, labels)
        error = cntk.classification_error(scores, labels)
        # The rates are those of a mini-batch, as in the other frameworks.
        learner = cntk.momentum_sgd(
            scores.parameters,
            cntk.learning_parameter_schedule(sizes["learning_rate"], self._count),
            cntk.momentum_schedule(sizes["momentum"], self._count),
            unit_gain=False,
            l2_regularization_weight=sizes["weight_decay"],
            minibatch_size=self._count,
        )
        self._trainer = cntk.Trainer(scores, (loss, error), [learner])
        numbers = backend.numbers
        self._batches = [
            {
                images: numbers.randn(self._count, 3, side, side).astype("float32"),
                labels: np.eye(classes, dtype="float32")[
                    numbers.randint(classes, size=self._count)
                ],
            }
            for _ in range(sizes["batches"])
        ]

    def step(self, number: int) -> "tuple[float, float]":
        self._trainer.train_minibatch(self._batches[number % len(self._batches)])
        return self._count, self._trainer.previous_minibatch_loss_average
