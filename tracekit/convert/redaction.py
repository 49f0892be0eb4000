"""What may leave a capture, and how the rest is withheld."""

import re
from enum import Flag, auto
from typing import TYPE_CHECKING

import pyarrow as pa

from tracekit.convert.distinct import map_distinct

if TYPE_CHECKING:
    from collections.abc import Callable

ALLOWED_VARIABLES = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "NODE_RANK",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "PMI_RANK",
        "PMI_SIZE",
        "PMI_LOCAL_RANK",
        "PMIX_RANK",
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        "PALS_RANKID",
        "PALS_LOCAL_RANKID",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_NODEID",
        "SLURM_NTASKS",
        "SLURM_NPROCS",
        "SLURM_NNODES",
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "NVIDIA_TF32_OVERRIDE",
        "OMP_NUM_THREADS",
        "NCCL_ALGO",
        "NCCL_PROTO",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        "TF_ENABLE_ONEDNN_OPTS",
        "XLA_PYTHON_CLIENT_PREALLOCATE",
    }
)
"""Environment variables that say how a job ran and never hold a secret."""

MASK = "***"

_SECRET = r"[\w-]*(?:key|token|secret|passw(?:or)?d|passwd|credential)[\w-]*"
_OPTION = re.compile(rf"(?i)((?:^|\s)--?{_SECRET})(=|\s+)(\"[^\"]*\"|'[^']*'|\S+)")
_ASSIGNED = re.compile(
    rf"(?i)((?:^|[\s;,\"'])[\w-]*?{_SECRET}\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s;,]+)"
)
_IN_URL = re.compile(r"(\w+://[^\s/:@]+):[^\s/@]+@")
_HOME = re.compile(
    r"(?:/home/|/Users/|/root(?=/)|[A-Za-z]:\\Users\\)(?:[^/\\\s:;,'\"]*[/\\])*"
)


class Redact(Flag):
    """What is taken out for sharing, on top of what never leaves a capture."""

    NOTHING = 0
    HOST = auto()
    PATHS = auto()


def is_allowed_variable(name: str) -> bool:
    """Tell whether an environment variable may be copied."""
    return name in ALLOWED_VARIABLES


def mask_secrets(text: str) -> str:
    """Mask the values of options and variables that are named like secrets."""
    text = _OPTION.sub(rf"\1\2{MASK}", text)
    text = _ASSIGNED.sub(rf"\1{MASK}", text)
    return _IN_URL.sub(rf"\1:{MASK}@", text)


def redact_paths(text: str) -> str:
    """Replace folders below a home folder, keep the name of the file."""
    return _HOME.sub("~/", text)


class Redactor:
    """Changes the text of rows before they are written.

    Args:
        redact: What is taken out on request; secrets in messages and facts always are.
    """

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._hosts: dict[str, str] = {}

    def host(self, name: str) -> str:
        """Return the name of a machine as it may be written."""
        if Redact.HOST not in self._redact:
            return name
        return self._hosts.setdefault(name, f"host-{len(self._hosts)}")

    def text(self, text: str) -> str:
        """Return any text as it may be written."""
        if Redact.PATHS in self._redact:
            text = redact_paths(text)
        for name, alias in self._hosts.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", alias, text)
        return text

    def rows(self, table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with their text as it may be written."""
        always = mask_secrets if table in _MESSAGES else None
        if always is None and not self._redact:
            return rows
        for index, field in enumerate(rows.schema):
            if not _is_text(field.type):
                continue
            change: Callable[[str], str]
            if field.name == "host":
                change = self.host
            else:
                change = self.text if always is None else self._masked
            changed = map_distinct(_plain(rows.column(index)), change, pa.string())
            rows = rows.set_column(index, field.name, changed)
        return rows

    def _masked(self, text: str) -> str:
        return self.text(mask_secrets(text))


_MESSAGES = frozenset({"diagnostic", "run_fact", "rejected"})


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind))


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column
