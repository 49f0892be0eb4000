"""PyTorch's profiler (Kineto), driven by `profiler.py`."""

import importlib
import os


def prepare() -> None:
    """Do what must be done before the import."""


class Profiler:
    """Records with `torch.profiler`, from PyTorch 1.10 on."""

    def __init__(self, settings: object, torch: object) -> None:
        import torch.profiler as profiler

        self._torch = torch
        self._path = settings.path(".pt.trace.json")
        kinds = profiler.ProfilerActivity
        activities = [kinds.CPU]
        if torch.cuda.is_available():
            activities.append(kinds.CUDA)
        options = {
            "record_shapes": settings.has("record_shapes"),
            "profile_memory": settings.has("profile_memory"),
            "with_stack": settings.has("with_stack"),
            "with_flops": False,
        }
        if settings.has("with_modules"):
            options["with_modules"] = True
        self._make = lambda: profiler.profile(activities=activities, **options)
        self._profile = None
        self._number = (settings.first or 0) - 1
        self._range = None
        # A workload of tracekit's own marks its iterations itself.
        self._marks = "TRACEKIT_WORKLOAD_RECORD" not in os.environ

    def watch_steps(self, step: object) -> None:
        """Call `step` after each update of the first optimizer that makes one."""
        # PyTorch takes the attribute away again.
        module = importlib.import_module("torch.optim.optimizer")
        first = []

        def updated(optimizer: object, *_: object) -> None:
            if not first:
                first.append(id(optimizer))
            if first[0] == id(optimizer):
                step()

        if hasattr(module, "register_optimizer_step_post_hook"):
            module.register_optimizer_step_post_hook(updated)
            return
        # Before PyTorch 2.0 each optimizer wraps its class's `step` once, when made.
        made = module.Optimizer.__init__

        def init(optimizer: object, *arguments: object, **named: object) -> None:
            made(optimizer, *arguments, **named)
            kind = type(optimizer)
            if not getattr(kind.step, "by_tracekit", False):
                kind.step = _followed(kind.step, updated)

        module.Optimizer.__init__ = init

    def warm_up(self) -> None:
        """Start to trace, without keeping anything: the first records are slow."""
        self._profile = self._make()
        self._profile.prepare_trace()

    def start(self) -> None:
        """Record from now on."""
        if self._profile is None:
            self.warm_up()
        self._profile.start_trace()

    def stop(self) -> "list[str]":
        """Stop, and return the captures."""
        if self._torch.cuda.is_available() and self._torch.cuda.is_initialized():
            self._torch.cuda.synchronize()
        self._profile.stop_trace()
        self._profile.export_chrome_trace(self._path)
        return [self._path]

    def open_step(self) -> None:
        """Mark that a step begins."""
        self._number += 1
        if not self._marks:
            return
        name = f"ProfilerStep#{self._number}"
        self._range = self._torch.autograd.profiler.record_function(name)
        self._range.__enter__()

    def close_step(self) -> None:
        """Mark that the step has ended."""
        if self._range is not None:
            self._range.__exit__(None, None, None)


def _followed(call: object, after: object) -> object:
    def step(optimizer: object, *arguments: object, **named: object) -> object:
        result = call(optimizer, *arguments, **named)
        after(optimizer)
        return result

    step.by_tracekit = True
    return step
