"""Masks what is named like a secret in text that people wrote."""

import re
import shlex
from collections.abc import Sequence

MASK = "***"

# Lengths are bounded so that no text, however long, takes more than linear time.
_NAME = (
    r"[\w.-]{0,128}?(?:key|token|secret|passw(?:or)?d|passwd|passphrase|pwd|credential"
    r"|cookie|bearer|auth(?!or))[\w.-]{0,128}"
)
# A quote that is not closed lasts to the end of the line.
_QUOTED = r"\\*(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\"'][^\n]*)"
_OPTION_ALONE = re.compile(rf"(?i)--?{_NAME}")
_ASSIGNMENT = re.compile(rf"(?i)(-*{_NAME}=).*", re.DOTALL)
_OPTION = re.compile(rf"(?i)((?:^|(?<=[\s\"'(]))--?{_NAME})(=|\s+)({_QUOTED}|\S+)")
_ASSIGNED = re.compile(
    rf"(?i)((?<![\w-]){_NAME}[\\\"']*\s*(?:=|:(?!:))\s*)({_QUOTED}|[^\s;,&\"'}}]+)"
)
_SCHEME = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
# What stands before the last @ of an authority is a name, a password or a token.
_IN_URL = re.compile(r"(\b[a-zA-Z][\w+.-]{0,32}://)[^\s/?#\"']*@")
# Tokens that tell what they are by how they begin.
_KNOWN = re.compile(
    r"\b(?:hf_\w{16,}|gh[opusr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|sk-[\w-]{16,}|xox[a-z]-[\w-]{10,}|A(?:KIA|SIA)[A-Z0-9]{16}"
    r"|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+)"
)


def mask_secrets(text: str) -> str:
    """Mask the values of options, variables and fields that are named like secrets.

    Passwords in URLs and tokens of a known form are masked too.
    """
    text = _SCHEME.sub(rf"\1 {MASK}", text)
    text = _OPTION.sub(rf"\1\2{MASK}", text)
    text = _ASSIGNED.sub(rf"\1{MASK}", text)
    text = _IN_URL.sub(rf"\1{MASK}@", text)
    return _KNOWN.sub(MASK, text)


def mask_command(arguments: Sequence[str]) -> str:
    """Return a command line as one types it, values of secret options masked.

    Each argument is one value, whatever spaces and quotes it holds.
    """
    masked = []
    secret = False
    for argument in arguments:
        if secret and not argument.startswith("--"):
            masked.append(MASK)
            secret = False
            continue
        secret = _OPTION_ALONE.fullmatch(argument) is not None
        assigned = _ASSIGNMENT.fullmatch(argument)
        text = assigned[1] + MASK if assigned else mask_secrets(argument)
        masked.append(text if _is_plain(text) else shlex.quote(text))
    return " ".join(masked)


def _is_plain(text: str) -> bool:
    """Tell whether a masked argument reads well without quotes."""
    return MASK in text and shlex.quote(text.replace(MASK, "")) == text.replace(
        MASK, ""
    )
