"""Shared libraries that a program says are missing, and the packages they are in."""

import re

# The loader's words, with its prefix or, where a library is opened later, without.
_NO_LIBRARY = re.compile(
    r"error while loading shared libraries: (?P<started>[^\s:]+)"
    r"|(?P<opened>lib[\w.+-]+\.so[\w.]*): cannot open shared object file"
)
_PACKAGES = {
    "libdw.so.1": ("libdw1", "elfutils-libs"),
    "libelf.so.1": ("libelf1", "elfutils-libelf"),
}


def library_named_in(text: str) -> str | None:
    """Return the shared library that a program's message says is missing."""
    match = _NO_LIBRARY.search(text)
    return match["started"] or match["opened"] if match else None


def install_advice(library: str) -> str:
    """Say how to install the package that holds a library."""
    debian, red_hat = _PACKAGES.get(library, ("", ""))
    if debian:
        return f"apt install {debian} (Debian, Ubuntu), or dnf install {red_hat}"
    return f"install the package that holds {library}: apt-file search {library}"
