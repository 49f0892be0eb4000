"""What all workloads in MXNet share: device, precision, marks, updates."""

import contextlib
from typing import TYPE_CHECKING

import mxnet as mx
import numpy as np
from marks import Marks, start_profiler, stop_profiler
from mxnet import autograd, gluon
from training import Training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from options import Options


class Backend:
    """MXNet on one device.

    Attributes:
        context: Where the model is.
        device_name: Its name for people.
        version: The framework's name and version.
        seed: Seed of everything.
        numbers: Random numbers of the data.
    """

    def __init__(self, options: "Options") -> None:
        gpus = mx.context.num_gpus()
        if options.device == "cuda" and not gpus:
            raise LookupError("MXNet sees no GPU; --device cpu trains without")
        if options.precision not in ("fp32", "tf32"):
            raise LookupError(
                f"the workloads in MXNet have no {options.precision}: use fp32"
            )
        on_gpu = options.device != "cpu" and bool(gpus)
        self.context = mx.gpu() if on_gpu else mx.cpu()
        self.device_name = "the GPU" if on_gpu else "the CPU"
        self.version = f"MXNet {mx.__version__}"
        self.seed = options.seed
        mx.random.seed(self.seed)
        # Initializers draw from NumPy's own numbers.
        np.random.seed(self.seed)
        self.numbers = np.random.RandomState(self.seed)
        self._marks = Marks()
        self._domain = mx.profiler.Domain("training")
        self._waiting = []

    def facts(self) -> "dict[str, object]":
        """Return what is worth to be known of a result."""
        return {"framework_version": mx.__version__, "device": self.device_name}

    @contextlib.contextmanager
    def iteration(self, number: int) -> "Iterator[None]":
        """Mark an iteration: an NVTX range and a task of the profiler."""
        self._marks.push(f"iteration {number}")
        task = self._domain.new_task(f"iteration {number}")
        task.start()
        try:
            yield
        finally:
            task.stop()
            self._marks.pop()

    def pace(self, loss: mx.nd.NDArray) -> None:
        """Let the device be at most one iteration behind."""
        self._waiting.append(loss)
        if len(self._waiting) > 1:
            self._waiting.pop(0).wait_to_read()

    def synchronize(self) -> None:
        """Wait for the device."""
        mx.nd.waitall()

    def value(self, loss: mx.nd.NDArray) -> float:
        """Return a loss as a number; waits for it."""
        return float(loss.asscalar())

    def start_profiler(self) -> None:
        """Tell a profiler that waits for it to start."""
        self.synchronize()
        start_profiler()

    def stop_profiler(self) -> None:
        """Tell the profiler to stop."""
        stop_profiler()

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Tell whether the error says that the memory did not suffice."""
        return isinstance(error, MemoryError) or any(
            text in str(error)
            for text in ("cudaMalloc failed", "out of memory", "Failed to allocate")
        )

    def placed(self, array: np.ndarray) -> mx.nd.NDArray:
        """Return an array on the device, copied now."""
        return mx.nd.array(array, ctx=self.context, dtype=array.dtype)


class Learning(Training):
    """A model that is trained by one loss.

    Args:
        backend: Where it runs.
        model: Has the weights, initialized.
        optimizer: Its name in MXNet.
        settings: Of the optimizer.
        loss_of: Gives the loss of a batch, a scalar.
        make: Makes a batch of NumPy arrays.
        batches: How many.
        samples_of: Gives the samples in a batch.
        largest_gradient: Norm to which the gradient is cut; None to leave it.
    """

    def __init__(
        self,
        backend: Backend,
        model: gluon.Block,
        optimizer: str,
        settings: dict,
        loss_of: "Callable[..., mx.nd.NDArray]",
        make: "Callable[[], tuple[np.ndarray, ...]]",
        batches: int,
        samples_of: "Callable[[tuple], float]",
        largest_gradient: "float | None" = None,
    ) -> None:
        self._backend = backend
        self._weights = model.collect_params()
        self._trainer = gluon.Trainer(self._weights, optimizer, settings)
        self._loss_of = loss_of
        self._samples_of = samples_of
        self._largest = largest_gradient
        self._batches = [make() for _ in range(batches)]

    def step(self, number: int) -> "tuple[float, mx.nd.NDArray]":
        batch = self._batches[number % len(self._batches)]
        placed = [self._backend.placed(part) for part in batch]
        with autograd.record():
            loss = self._loss_of(*placed)
        loss.backward()
        self._trainer.allreduce_grads()
        if self._largest is not None:
            gradients = [
                weight.grad()
                for weight in self._weights.values()
                if weight.grad_req != "null"
            ]
            gluon.utils.clip_global_norm(gradients, self._largest, check_isfinite=False)
        self._trainer.update(1)
        return self._samples_of(batch), loss
