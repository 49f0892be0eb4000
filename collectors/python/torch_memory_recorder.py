"""Follows the storages of a PyTorch program; runs in the program's process.

What is allocated comes from the PyTorch profiler's memory events, CPU and GPU alike:
every allocation and release, in the allocator's own sizes, with the operator around it.
What it is for comes from hooks: parameters and buffers of modules that run, `.grad`,
the optimizers' state, tensors saved for the backward pass with the module that saved
them, and batches. Each is noted as an address at a time; a block is told by the
allocation that was alive then, never by the address alone.

After some steps of an optimizer, or when the program ends, all of it is written to a
file and the program goes on as if nothing had been there. Nothing here may break the
program: what cannot be seen is left out. Only the standard library and torch are used.
"""

import atexit
import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import tracekit_torch_memory_events as events

WEIGHTS, DYNAMIC, GRADIENTS, INPUT, MAPS = range(5)
# Forward passes without an optimizer after which the recording ends, for each step.
_PASSES_A_STEP = 20
_EVEN_IF_TRACING = (True,)
_now = time.time_ns
_recorder: "Recorder | None" = None


def begin(torch: ModuleType) -> None:
    """Start to record, once torch has been imported."""
    global _recorder
    if _recorder is not None:
        return
    steps = int(os.environ.get("TRACEKIT_TORCH_MEMORY_STEPS") or 10)
    recorder = Recorder(torch, os.environ["TRACEKIT_TORCH_MEMORY"], steps)
    recorder.start()
    _recorder = recorder
    atexit.register(recorder.finish)
    os.register_at_fork(after_in_child=recorder.forget)


class Recorder:
    """The hooks of one process, and what they saw.

    Args:
        torch: The module.
        folder: Where the capture goes.
        steps: Steps of the optimizer to record.
    """

    def __init__(self, torch: ModuleType, folder: str, steps: int) -> None:
        self._torch = torch
        self._folder = folder
        self._wanted_steps = steps
        self.is_active = False
        # Each: time, device, address, class, layer, tag, shape, element type.
        self.seen: list[tuple[Any, ...]] = []
        self.layers: list[str] = []
        # Each: layer, start, end, thread.
        self.modules: list[tuple[int, int, int, int]] = []
        # Each: kind, start, end.
        self.phases: list[tuple[str, int, int]] = []
        self.steps: list[tuple[int, int]] = []
        # Each: time, device, bytes.
        self.used: list[tuple[int, int, int]] = []
        self._numbers: dict[str, int] = {}
        self._paths: dict[int, int] = {}
        self._parameters: dict[int, int] = {}
        self._owned: dict[int, tuple[int, list[tuple[Any, str, int, bool]]]] = {}
        self._thread = threading.local()
        self._passes = 0
        self._step_start = 0
        self._optimizer_start = 0
        self._undo: list[Callable[[], None]] = []
        self._profiler: Any = None
        self.start_ns = 0

    # Starting and ending

    def start(self) -> None:
        """Set the hooks and start the profiler."""
        torch = self._torch
        module = torch.nn.modules.module
        optimizer = importlib.import_module("torch.optim.optimizer")
        handles = [
            module.register_module_forward_pre_hook(self._enter),
            module.register_module_forward_hook(self._leave, always_call=True),
            optimizer.register_optimizer_step_pre_hook(self._step_begins),
            optimizer.register_optimizer_step_post_hook(self._step_ends),
        ]
        self._undo += [handle.remove for handle in handles]
        self._wrap(torch.autograd, "backward", self._around_backward)
        self._wrap(torch.autograd, "grad", self._around_backward)
        for name in ("to", "cuda"):
            self._wrap(torch.Tensor, name, self._around_copy)
        parallel = torch.nn.parallel.DistributedDataParallel
        for name in ("__init__", "_pre_forward"):
            if hasattr(parallel, name):
                self._wrap(parallel, name, self._around_buckets)
        self._wrap(torch.profiler.profile, "start", self._before_another)
        self._wrap(torch.autograd.profiler.profile, "__enter__", self._before_another)
        torch._C._autograd._push_saved_tensors_default_hooks(self._pack, _as_it_is)
        self._allow_no_hooks()
        profiler = torch.autograd.profiler.profile(use_kineto=True, profile_memory=True)
        # Its summary of the events is not wanted, and takes long.
        profiler._parse_kineto_results = lambda *_, **__: []
        self._profiler = profiler
        self.start_ns = self._step_start = _now()
        profiler.__enter__()
        self.is_active = True

    def forget(self) -> None:
        """Leave the recording to the parent, in a process that was forked off."""
        self.is_active = False
        self._profiler = None

    def finish(self) -> None:
        """Write what was recorded, once, and take the hooks away."""
        if not self.is_active:
            return
        self.is_active = False
        for undo in self._undo:
            with contextlib.suppress(Exception):
                undo()
        try:
            self._write()
        except Exception as error:
            sys.stderr.write(f"tracekit: memory was not written: {error!r}\n")

    def _write(self) -> None:
        torch, profiler = self._torch, self._profiler
        self._profiler = None
        facts = events.device_facts(torch)
        self._sample()
        cleared = None
        clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
        if clear is not None and events.has_cuda(torch):
            # What this frees is the workspace of cuBLAS, which no tensor ever holds.
            cleared = _now()
            clear()
        end_ns = _now()
        profiler.__exit__(None, None, None)
        if not self.modules and not self.steps:
            return
        events.write(
            self._folder,
            torch,
            profiler.kineto_results.experimental_event_tree(),
            {
                "start_ns": self.start_ns,
                "end_ns": end_ns,
                "cleared_ns": cleared,
                "devices": facts,
                "layers": self.layers,
                "modules": self.modules,
                "phases": self.phases,
                "steps": self.steps,
                "used": self.used,
                "seen": self.seen,
            },
        )

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if not self.is_active or self._torch.compiler.is_compiling():
                return original(*args, **kwargs)
            return around(original, args, kwargs)

        wrapped.__name__, wrapped.__doc__ = name, original.__doc__
        wrapped.__wrapped__ = original  # type: ignore[attr-defined] - as functools has
        setattr(owner, name, wrapped)
        self._undo.append(lambda: setattr(owner, name, original))

    def _allow_no_hooks(self) -> None:
        """Take the hook on saved tensors away where a program forbids any."""
        graph, autograd = self._torch.autograd.graph, self._torch._C._autograd
        original = graph.disable_saved_tensors_hooks

        @contextlib.contextmanager
        def without(message: str) -> Iterator[None]:
            top = autograd._top_saved_tensors_default_hooks(*_EVEN_IF_TRACING)
            mine = top is not None and top[0] == self._pack
            if mine:
                autograd._pop_saved_tensors_default_hooks()
            try:
                with original(message):
                    yield
            finally:
                if mine:
                    autograd._push_saved_tensors_default_hooks(self._pack, _as_it_is)

        graph.disable_saved_tensors_hooks = without

    # What is seen

    def _note(
        self, tensor: Any, what: int, layer: int | None = None, tag: str | None = None
    ) -> None:
        try:
            address = tensor.untyped_storage().data_ptr()
        except Exception:  # a tensor without memory of its own
            return
        if address:
            self.seen.append(
                (
                    _now(),
                    tensor.get_device(),
                    address,
                    what,
                    layer,
                    tag,
                    tensor.shape,
                    tensor.dtype,
                )
            )

    def _pack(self, tensor: Any) -> Any:
        if self.is_active:
            stack = getattr(self._thread, "stack", None)
            self._note(tensor, MAPS, stack[-1][1] if stack else None)
        return tensor

    def _enter(self, module: Any, args: tuple[Any, ...]) -> None:
        if not self.is_active or self._torch.compiler.is_compiling():
            return
        stack = getattr(self._thread, "stack", None)
        if stack is None:
            stack = self._thread.stack = []
        if not stack:
            self._passes += 1
            self._look_at(module)
            self._note_batch(args)
        layer = self._paths.get(id(module))
        if layer is None:
            layer = self._paths[id(module)] = self._number(type(module).__name__)
        stack.append((module, layer, _now()))

    def _leave(self, module: Any, args: Any, output: Any) -> None:
        if not self.is_active or self._torch.compiler.is_compiling():
            return
        stack = getattr(self._thread, "stack", None)
        while stack:
            entered, layer, start = stack.pop()
            self.modules.append((layer, start, _now(), threading.get_native_id()))
            if entered is module:
                break
        most = _PASSES_A_STEP * self._wanted_steps
        if not stack and not self.steps and self._passes >= most:
            self.finish()

    def _number(self, layer: str) -> int:
        number = self._numbers.get(layer)
        if number is None:
            number = self._numbers[layer] = len(self.layers)
            self.layers.append(layer)
        return number

    def _look_at(self, root: Any) -> None:
        """Note the parameters and buffers of a model that is about to run."""
        looks, owned = self._owned.get(id(root), (0, []))
        # A model may still change in its first passes; later on only its tensors do.
        if looks < 3:
            owned = []
            for path, module in root.named_modules():
                # Inside of a wrapper such as DistributedDataParallel a model keeps
                # the names that it has itself.
                name = path.removeprefix("module.") or type(module).__name__
                layer = self._paths[id(module)] = self._number(name)
                for kind in (module._parameters, module._buffers):
                    is_parameter = kind is module._parameters
                    owned += [(kind, key, layer, is_parameter) for key in kind]
                    self._parameters.update({id(t): layer for t in kind.values()})
        self._owned[id(root)] = (looks + 1, owned)
        for tensors, key, layer, _ in owned:
            tensor = tensors.get(key)
            if tensor is not None:
                self._note(tensor, WEIGHTS, layer, key)

    def _note_batch(self, args: Any) -> None:
        for value in args:
            if isinstance(value, self._torch.Tensor):
                if value.grad_fn is None and not value.requires_grad:
                    self._note(value, INPUT)
            elif isinstance(value, (list, tuple)):
                self._note_batch(value)
            elif isinstance(value, dict):
                self._note_batch(value.values())

    def _note_gradients(self) -> None:
        for _, owned in self._owned.values():
            for tensors, key, layer, is_parameter in owned:
                tensor = tensors.get(key) if is_parameter else None
                if tensor is not None and tensor.grad is not None:
                    self._note(tensor.grad, GRADIENTS, layer, key)

    # What is going on

    def _around_backward(self, original: Any, args: Any, kwargs: Any) -> Any:
        start = _now()
        try:
            return original(*args, **kwargs)
        finally:
            self._note_gradients()
            self.phases.append(("backward", start, _now()))

    def _around_copy(self, original: Any, args: Any, kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if result.is_cuda and not args[0].is_cuda:
            self._note(result, INPUT)
        return result

    def _around_buckets(self, original: Any, args: Any, kwargs: Any) -> Any:
        start = _now()
        try:
            return original(*args, **kwargs)
        finally:
            self.phases.append(("communication", start, _now()))

    def _before_another(self, original: Any, args: Any, kwargs: Any) -> Any:
        """End the recording where the program starts a profiler of its own."""
        if self._profiler is not None:
            self.finish()
        return original(*args, **kwargs)

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.is_active or self._torch.compiler.is_compiling():
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._note(parameter.grad, GRADIENTS)
        self._optimizer_start = _now()

    def _step_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.is_active or self._torch.compiler.is_compiling():
            return
        end = _now()
        self.phases.append(("optimizer", self._optimizer_start, end))
        for parameter, state in optimizer.state.items():
            layer = self._parameters.get(id(parameter))
            for key, value in state.items() if isinstance(state, dict) else ():
                if isinstance(value, self._torch.Tensor):
                    self._note(value, DYNAMIC, layer, str(key))
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self._note(parameter, WEIGHTS)
        self.steps.append((self._step_start, end))
        self._step_start = end
        self._sample()
        if len(self.steps) >= self._wanted_steps:
            self.finish()

    def _sample(self) -> None:
        if events.has_cuda(self._torch):
            for device in range(self._torch.cuda.device_count()):
                free, total = self._torch.cuda.mem_get_info(device)
                self.used.append((_now(), device, total - free))


def _as_it_is(tensor: Any) -> Any:
    return tensor
