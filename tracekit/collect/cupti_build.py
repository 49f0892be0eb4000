"""Builds the native collector on the machine that uses it, once for each CUPTI.

The library is loaded into the traced program, so it comes from a folder that only its
user can write.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path

from tracekit.assets import assets
from tracekit.errors import MissingToolError

FLAGS = (
    *("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Wshadow"),
)
_LIBRARY = "libtracekit-cupti.so"
_VERSION = re.compile(r"#\s*define\s+CUPTI_API_VERSION\s+(\d+)")
# CUPTI of CUDA 12.9: the first one with the records that the collector reads.
_OLDEST = 28
_ROOT = Path("/")
_TOOLKITS = ("usr/local/cuda", "usr/local/cuda-*", "opt/cuda", "usr")
_NEEDED = ("cupti.h", "cuda.h", "crt/host_defines.h")
_BUILD_S = 300
_SHOWN_LINES = 12


@dataclass(frozen=True)
class Built:
    """The collector's library.

    Attributes:
        library: What a CUDA program is to load.
        cupti: A libcupti for programs that load none; None to leave it to the loader.
    """

    library: Path
    cupti: Path | None


@dataclass(frozen=True)
class Headers:
    """Headers of a CUPTI.

    Attributes:
        version: Its CUPTI_API_VERSION.
        folders: The folders to include.
        libraries: Folders that may hold its library.
    """

    version: int
    folders: tuple[Path, ...]
    libraries: tuple[Path, ...]

    @property
    def cupti(self) -> Path | None:
        """The libcupti that belongs to them."""
        found = [
            path for folder in self.libraries for path in folder.glob("libcupti.so.*")
        ]
        return min(found, key=lambda path: len(path.name), default=None)


def injection_library(say: Callable[[str], None] = lambda _: None) -> Built:
    """Return the library, built now if it is not there yet.

    Args:
        say: Told when it is built, which takes seconds.

    Raises:
        MissingToolError: There is no compiler, there are no headers, it does not
            build, or the cache is not this user's alone.
    """
    headers = find_headers()
    with as_file(assets("collectors") / "cupti") as sources:
        files = sorted(sources.glob("*.cpp"))
        folder = private_folder(_cache() / f"{headers.version}-{_digest(sources)}")
        library = folder / _LIBRARY
        if not _is_private(library):
            say(f"Building the collector for CUPTI {headers.version}, once")
            _build(headers, files, library)
    return Built(library, headers.cupti)


def find_headers() -> Headers:
    """Return the headers of the toolkit's CUPTI, else of a wheel's.

    The toolkit's fits the driver; records are the same in all of them.

    Raises:
        MissingToolError: There are none, or only too old ones.
    """
    found = [headers for headers in map(_headers, _places()) if headers is not None]
    usable = next((one for one in found if one.version >= _OLDEST), None)
    if usable is None:
        what = "only headers of CUPTI before CUDA 12.9" if found else "no CUPTI headers"
        raise MissingToolError(
            f"there are {what} to build the collector with",
            hint="install the CUDA toolkit (set CUDA_HOME if it is in an unusual "
            "place), or pip install 'tracekit[cupti]'; or collect --with nsys",
        )
    return usable


def compiler() -> str:
    """Return the C++ compiler.

    Raises:
        MissingToolError: There is none.
    """
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        path = shutil.which(name) if name else None
        if path is not None:
            return path
    raise MissingToolError(
        "there is no C++ compiler to build the collector with",
        hint="apt install g++, or dnf install gcc-c++; or collect --with nsys",
    )


def private_folder(folder: Path) -> Path:
    """Return a folder that only this user can write, made if it is not there.

    Raises:
        MissingToolError: It is another user's, or others can write it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.lstat()
    except OSError as error:
        raise MissingToolError(
            f"{folder} cannot be made: {error.strerror}",
            hint="set XDG_CACHE_HOME to a folder of yours",
        ) from error
    if not stat.S_ISDIR(facts.st_mode) or not _is_ours(facts):
        raise MissingToolError(
            f"{folder} is not yours alone, so nothing in it is loaded into a program",
            hint="remove it, or set XDG_CACHE_HOME to a folder of yours",
        )
    return folder


def _places() -> Iterator[tuple[tuple[Path, ...], tuple[Path, ...]]]:
    """Yield folders of headers that may belong together, and of libraries."""
    roots = [
        Path(p) for p in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")) if p
    ]
    roots += [path for pattern in _TOOLKITS for path in sorted(_ROOT.glob(pattern))]
    for root in roots:
        extras = root / "extras" / "CUPTI"
        yield (
            (root / "include", extras / "include"),
            (extras / "lib64", root / "lib64", root / "targets/x86_64-linux/lib"),
        )
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        nvidia = Path(place)
        for home in sorted(nvidia.glob("cu[0-9]*")):
            yield (home / "include",), (home / "lib",)
        parts = [nvidia / "cuda_cupti", nvidia / "cuda_runtime", nvidia / "cuda_nvcc"]
        yield tuple(part / "include" for part in parts), (parts[0] / "lib",)


def _headers(place: tuple[tuple[Path, ...], tuple[Path, ...]]) -> Headers | None:
    folders, libraries = place
    present = tuple(folder for folder in folders if folder.is_dir())
    for name in _NEEDED:
        if not any((folder / name).is_file() for folder in present):
            return None
    for folder in present:
        version = folder / "cupti_version.h"
        match = _VERSION.search(version.read_text()) if version.is_file() else None
        if match:
            return Headers(int(match[1]), present, libraries)
    return None


def _digest(sources: Path) -> str:
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted((*sources.glob("*.cpp"), *sources.glob("*.h"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path.home() / ".cache"
    return private_folder(private_folder(home / "tracekit") / "cupti")


def _is_ours(facts: os.stat_result) -> bool:
    others = stat.S_IWGRP | stat.S_IWOTH
    return facts.st_uid == os.geteuid() and not facts.st_mode & others


def _is_private(library: Path) -> bool:
    try:
        facts = library.lstat()
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and _is_ours(facts)


def _build(headers: Headers, files: list[Path], library: Path) -> None:
    includes = [
        word for folder in headers.folders for word in ("-isystem", str(folder))
    ]
    with tempfile.TemporaryDirectory(dir=library.parent) as place:
        made = Path(place) / _LIBRARY
        command = [compiler(), *FLAGS, *includes, *map(str, files), "-o", str(made)]
        done = subprocess.run(
            [*command, "-ldl", "-pthread"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_BUILD_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
        if done.returncode:
            lines = done.stderr.splitlines()[:_SHOWN_LINES]
            printed = "".join(f"\n  | {line}" for line in lines)
            raise MissingToolError(
                f"the collector cannot be built{printed}",
                hint="look at the compiler and the headers above, or collect --with "
                "nsys",
            )
        made.chmod(0o700)
        # Another process may have built it in the meantime: both are the same.
        made.replace(library)
