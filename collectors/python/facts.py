"""Notes, when the program ends, versions and precision flags of its frameworks.

Writes `PID.json` into the folder that TRACEKIT_FACTS names, from each process that has
imported a framework. Nothing is imported for it, and only what the frameworks answer
without a GPU call is asked.
"""

import atexit
import json
import os
import sys
import warnings
from typing import Dict

_ASKED = {
    "torch": (
        "__version__",
        "version.cuda",
        "version.hip",
        "backends.cudnn.version()",
        "backends.cuda.matmul.allow_tf32",
        "backends.cuda.matmul.fp32_precision",
        "backends.cudnn.allow_tf32",
        "backends.cudnn.benchmark",
        "backends.cudnn.deterministic",
        "get_float32_matmul_precision()",
        "are_deterministic_algorithms_enabled()",
    ),
    "tensorflow": (
        "__version__",
        "config.experimental.tensor_float_32_execution_enabled()",
    ),
    "jax": ("__version__", "config.jax_default_matmul_precision"),
    "mxnet": ("__version__",),
    "cntk": ("__version__",),
    "cupy": ("__version__",),
}


def start() -> None:
    """Have the facts noted when the program ends."""
    atexit.register(_write, os.getpid())


def facts() -> Dict[str, str]:
    """Return what the frameworks that are imported answer, by dotted name."""
    found = {}
    for name, questions in _ASKED.items():
        module = sys.modules.get(name)
        if module is None:
            continue
        for question in questions:
            # A framework of another version may lack it, or refuse to mix its ways of
            # asking.
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    value = _answer(module, question)
            except Exception:
                continue
            if isinstance(value, (bool, int, float, str)):
                key = name if question == "__version__" else name + "." + question
                found[key.replace("()", "")] = str(value)
    if found:
        found["python"] = sys.version.split()[0]
    return found


def _answer(value: object, question: str) -> object:
    for part in question.split("."):
        is_call = part.endswith("()")
        value = getattr(value, part[:-2] if is_call else part)
        if is_call and callable(value):
            value = value()
    return value


def _write(pid: int) -> None:
    folder = os.environ.get("TRACEKIT_FACTS", "")
    # A forked child inherits the function, and says nothing that its parent does not.
    if not folder or os.getpid() != pid:
        return
    found = facts()
    if found:
        path = os.path.join(folder, f"{pid}.json")
        with open(path, "w") as file:
            json.dump(found, file)
