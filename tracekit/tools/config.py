"""The user's own settings: `config.toml` in their configuration folder.

None is looked for beside a capture: its programs would be run because of a file that
came with somebody's data.
"""

import os
import tomllib
from pathlib import Path

import msgspec

from tracekit.errors import UsageError


class EnvironmentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[env.<framework>]`.

    Attributes:
        python: The interpreter that has the framework.
        env: Variables that it needs.
    """

    python: str
    env: dict[str, str] = {}


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user has set.

    Attributes:
        env: Interpreters by framework.
    """

    env: dict[str, EnvironmentConfig] = {}


def config_path() -> Path:
    """Return where the file is, or would be."""
    base = os.environ.get("XDG_CONFIG_HOME")
    folder = Path(base) if base else Path.home() / ".config"
    return folder / "tracekit" / "config.toml"


def read_config() -> Config:
    """Read the file; without one nothing is set.

    Raises:
        UsageError: It cannot be read or says what is not known.
    """
    path = config_path()
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    try:
        return msgspec.convert(tomllib.loads(text), Config)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(
            f"{path}: {error}",
            hint='it may hold [env.torch] with python = "/path/to/python"',
        ) from error
