"""What all workloads in PyTorch share: device, precision, marks, data, updates."""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from options import Options

_AUTOCAST = {"fp16": torch.float16, "bf16": torch.bfloat16}

Batch = tuple[torch.Tensor, ...]


class Backend:
    """PyTorch on one device.

    Attributes:
        device: Where the model is.
        device_name: Its name for people.
        version: The framework's name and version.
        seed: Seed of everything.
        generator: Random numbers of the data, on the CPU.
    """

    def __init__(self, options: Options) -> None:
        if options.device == "cuda" and not torch.cuda.is_available():
            raise LookupError("PyTorch sees no GPU; --device cpu trains without")
        on_gpu = options.device != "cpu" and torch.cuda.is_available()
        self.device = torch.device("cuda" if on_gpu else "cpu")
        self.device_name = torch.cuda.get_device_name() if on_gpu else "the CPU"
        self.version = f"PyTorch {torch.__version__}"
        self.seed = options.seed
        torch.manual_seed(self.seed)
        self.generator = torch.Generator().manual_seed(self.seed)
        # Of the two APIs for this, the older one works in every version.
        torch.backends.cuda.matmul.allow_tf32 = options.precision == "tf32"
        torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
        self._type = _AUTOCAST.get(options.precision)
        self._scaler = torch.amp.GradScaler(
            self.device.type, enabled=options.precision == "fp16"
        )
        self._batches: list[Batch] = []
        self._ends: list[torch.cuda.Event] = []

    def facts(self) -> dict[str, object]:
        """Return what is worth to be known of a result."""
        return {
            "framework_version": torch.__version__,
            "device": self.device_name,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "tf32_matmul": torch.backends.cuda.matmul.allow_tf32,
            "tf32_cudnn": torch.backends.cudnn.allow_tf32,
            "cudnn_benchmark": torch.backends.cudnn.benchmark,
        }

    @contextlib.contextmanager
    def iteration(self, number: int) -> Iterator[None]:
        """Mark an iteration: an NVTX range and a step of the profiler."""
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.nvtx.range_push(f"iteration {number}")
        try:
            # As torch.profiler.profile.step does; costs nothing while none records.
            with torch.profiler.record_function(f"ProfilerStep#{number}"):
                yield
        finally:
            if on_gpu:
                torch.cuda.nvtx.range_pop()

    def pace(self, loss: torch.Tensor) -> None:  # noqa: ARG002 - other frameworks wait for it
        """Let the GPU be at most one iteration behind.

        So an iteration takes as long as on the GPU, and the GPU never runs dry.
        """
        if self.device.type != "cuda":
            return
        end = torch.cuda.Event()
        end.record()
        self._ends.append(end)
        if len(self._ends) > 1:
            self._ends.pop(0).synchronize()

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def value(self, loss: torch.Tensor) -> float:
        """Return a loss as a number; waits for it."""
        return float(loss)

    def start_profiler(self) -> None:
        """Tell a profiler that waits for it to start."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.profiler.start()

    def stop_profiler(self) -> None:
        """Tell the profiler to stop."""
        if self.device.type == "cuda":
            torch.cuda.profiler.stop()

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Tell whether the error says that the device's memory did not suffice."""
        # The libraries on top of CUDA say it in words of their own.
        return isinstance(error, torch.cuda.OutOfMemoryError) or any(
            text in str(error)
            for text in (
                "CUDA out of memory",
                "CUDNN_STATUS_ALLOC_FAILED",
                "CUBLAS_STATUS_ALLOC_FAILED",
                "DefaultCPUAllocator: can't allocate memory",
            )
        )

    def make_batches(self, make: Callable[[], Batch], count: int) -> None:
        """Make the data, where the data loader would leave it: pinned on the host."""
        batches = (make() for _ in range(count))
        on_gpu = self.device.type == "cuda"
        self._batches = [
            tuple(part.pin_memory() if on_gpu else part for part in batch)
            for batch in batches
        ]

    def batch(self, number: int) -> Batch:
        """Return an iteration's data on the device, copied now."""
        parts = self._batches[number % len(self._batches)]
        return tuple(part.to(self.device, non_blocking=True) for part in parts)

    def precision(self) -> contextlib.AbstractContextManager[object]:
        """Return the context in which the forward pass runs."""
        return torch.autocast(
            self.device.type, dtype=self._type, enabled=self._type is not None
        )

    def update(
        self,
        loss: torch.Tensor,
        optimizer: torch.optim.Optimizer,
        parameters: Sequence[torch.Tensor] = (),
        largest_gradient: float = 0.0,
    ) -> None:
        """Run the backward pass and the optimizer.

        Args:
            loss: The loss, a scalar.
            optimizer: Its gradients are set to none before.
            parameters: Those whose gradients are cut, if any are.
            largest_gradient: Norm to which they are cut.
        """
        optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        if parameters:
            self._scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(parameters, largest_gradient)
        self._scaler.step(optimizer)
        self._scaler.update()
