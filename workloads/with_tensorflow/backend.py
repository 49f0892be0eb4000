"""What all workloads in TensorFlow share: device, precision, marks, updates."""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import keras
import numpy as np
import tensorflow as tf
from marks import Marks, start_profiler, stop_profiler
from options import Options
from training import Training

_POLICIES = {"fp16": "mixed_float16", "bf16": "mixed_bfloat16"}

Batch = tuple[tf.Tensor, ...]


class Backend:
    """TensorFlow on one device.

    Attributes:
        device_name: Its name for people.
        version: The framework's name and version.
        seed: Seed of everything.
        numbers: Random numbers of the data.
    """

    def __init__(self, options: Options) -> None:
        gpus = tf.config.list_physical_devices("GPU")
        if options.device == "cuda" and not gpus:
            raise LookupError("TensorFlow sees no GPU; --device cpu trains without")
        self._on_gpu = options.device != "cpu" and bool(gpus)
        if not self._on_gpu:
            tf.config.set_visible_devices([], "GPU")
        self.device_name = "the GPU" if self._on_gpu else "the CPU"
        self.version = f"TensorFlow {tf.__version__}"
        self.seed = options.seed
        keras.utils.set_random_seed(self.seed)
        self.numbers = np.random.RandomState(self.seed)
        tf.config.experimental.enable_tensor_float_32_execution(
            options.precision == "tf32"
        )
        self._policy = _POLICIES.get(options.precision, "float32")
        keras.mixed_precision.set_global_policy(self._policy)
        self._marks = Marks()
        self._waiting: list[tf.Tensor] = []

    def facts(self) -> dict[str, object]:
        """Return what is worth to be known of a result."""
        return {
            "framework_version": tf.__version__,
            "keras": keras.__version__,
            "device": self.device_name,
            "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
        }

    @contextlib.contextmanager
    def iteration(self, number: int) -> Iterator[None]:
        """Mark an iteration: an NVTX range and a step of the profiler."""
        self._marks.push(f"iteration {number}")
        try:
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                yield
        finally:
            self._marks.pop()

    def pace(self, loss: tf.Tensor) -> None:
        """Let the device be at most one iteration behind."""
        self._waiting.append(loss)
        if len(self._waiting) > 1:
            self._waiting.pop(0).numpy()

    def synchronize(self) -> None:
        """Wait for the device."""
        while self._waiting:
            self._waiting.pop(0).numpy()

    def value(self, loss: tf.Tensor) -> float:
        """Return a loss as a number; waits for it."""
        return float(loss)

    def start_profiler(self) -> None:
        """Tell a profiler that waits for it to start."""
        self.synchronize()
        start_profiler()

    def stop_profiler(self) -> None:
        """Tell the profiler to stop."""
        stop_profiler()

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Tell whether the error says that the memory did not suffice."""
        return isinstance(error, tf.errors.ResourceExhaustedError | MemoryError)

    def optimizer(
        self, plain: keras.optimizers.Optimizer
    ) -> keras.optimizers.Optimizer:
        """Return the optimizer, with a scaled loss where the precision needs one."""
        if self._policy == "mixed_float16":
            return keras.optimizers.LossScaleOptimizer(plain)
        return plain


class Learning(Training):
    """A model that is trained by one loss.

    Args:
        backend: Where it runs.
        model: Has the weights.
        optimizer: Changes them.
        loss_of: Gives the loss of a batch.
        make: Makes a batch of NumPy arrays.
        batches: How many.
        samples_of: Gives the samples in a batch.
    """

    def __init__(
        self,
        backend: Backend,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        loss_of: Callable[..., tf.Tensor],
        make: Callable[[], Sequence[np.ndarray]],
        batches: int,
        samples_of: Callable[[Batch], float],
    ) -> None:
        self._model = model
        self._optimizer = backend.optimizer(optimizer)
        self._loss_of = loss_of
        self._samples_of = samples_of
        with tf.device("CPU"):
            self._batches = [
                tuple(tf.constant(part) for part in make()) for _ in range(batches)
            ]
        self._train = tf.function(self._update, reduce_retracing=True)

    def _update(self, *batch: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.cast(self._loss_of(*batch), tf.float32)
            scaled = self._optimizer.scale_loss(loss)
        weights = self._model.trainable_variables
        gradients = tape.gradient(scaled, weights)
        self._optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss

    def step(self, number: int) -> tuple[float, tf.Tensor]:
        batch = self._batches[number % len(self._batches)]
        return self._samples_of(batch), self._train(*batch)
