"""What an export says of its machine and its settings, by allow-list.

nsys records the whole environment of the profiled process in three places:
META_DATA_CAPTURE (`PROCESS_0:ENVIRONMENT_VARIABLE`), TARGET_INFO_SYSTEM_ENV
(`DeviceEnvironment`) and StringIds. Of the variables only those listed here are
read; of the settings only those that say how the profiler was set.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tracekit.convert.nsys.export import Export
from tracekit.convert.readers.base import CaptureLog
from tracekit.convert.redaction import Private
from tracekit.convert.secrets import mask_command
from tracekit.tools.variables import ALLOWED_VARIABLES, is_allowed_variable

_HOMES = frozenset({"HOME", "USERPROFILE"})
_USERS = frozenset({"USER", "LOGNAME", "USERNAME", "SUDO_USER", "SLURM_JOB_USER"})
_HOSTS = frozenset({"HOSTNAME", "HOST", "COMPUTERNAME", "SLURMD_NODENAME"})
_SETTING = re.compile(
    r"CAPTURE_EVENT_TYPE|RATE_HZ|START_TRIGGER|STOP_TRIGGER|RUN_DURATION_MS"
    r"|OS_RUNTIME_OPTIONS:[A-Z_]+|NVTX_OPTIONS:[A-Z_]+|GPU_METRICS[A-Z_:]*"
    r"|(PROCESS_0:)?(COLLECT|CUDA|TRACE)_[A-Z0-9_:]+|INCLUDE_CHILDREN"
)
FACTS = {
    "CpuCores": "cpu_cores",
    "CpuDescription": "cpu",
    "CpuArchitecture": "cpu_architecture",
    "OsDescription": "operating_system",
    "SoftwareReleaseVersion": "kernel_version",
    "NvDriverVersion": "driver_version",
    "CudaDriverVersion": "cuda_driver_version",
}


@dataclass
class Environment:
    """The allow-listed facts of an export.

    Attributes:
        variables: Environment variables of the profiled process.
        facts: Facts about the machine, by the keys of `run_fact`.
            hosts: Names of the machines, by globalVid.
        withheld: Names of the variables that were not read.
        private: Names of people and machines, to be taken out of text.
    """

    variables: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)
    private: Private = field(default_factory=Private)


def spelled_version(name: str, value: str) -> str:
    """Return a version that an export holds as one number in its usual form.

    Exports before 2023 hold driver 530.30.02 as 5303002; every export holds CUDA 12.1
    as 12010.
    """
    if value.isascii() and value.isdecimal():
        number = int(value)
        if name == "NvDriverVersion" and number >= 1_000_000:
            return f"{number // 10_000}.{number // 100 % 100:02}.{number % 100:02}"
        if name == "CudaDriverVersion" and number >= 1_000:
            return f"{number // 1_000}.{number % 1_000 // 10}"
    return value


def read_environment(export: Export, log: CaptureLog) -> Environment:
    """Read the machine, the settings and the listed variables; count the rest."""
    found = Environment(private=log.private)
    _read_system(export, found)
    _read_capture(export, log, found)
    if found.withheld:
        log.leave_behind(
            "environment variables",
            "not on the list of variables that are copied",
            len(found.withheld),
        )
    _read_export(export, log, found)
    _read_start(export, log)
    for table, what in (
        ("ProcessStreams", "standard output and error text"),
        ("ANALYSIS_FILE", "whole files"),
    ):
        count = export.count(table)
        if count:
            log.leave_behind(what, "never copied", count)
    log.driver_version = found.facts.get("driver_version")
    return found


def _read_system(export: Export, found: Environment) -> None:
    for row in export.rows("TARGET_INFO_SYSTEM_ENV"):
        name, value = row.get("name"), row.get("value")
        if not isinstance(name, str) or not isinstance(value, str):
            continue
        if name == "DeviceEnvironment":
            for variable, text in split_variables(value):
                take_variable(variable, text, found)
        elif name == "Hostname" and isinstance(row.get("globalVid"), int):
            found.hosts[row["globalVid"]] = value
            found.private.hosts.add(value)
        elif name in FACTS and value:
            found.facts[FACTS[name]] = spelled_version(name, value)


def _read_capture(export: Export, log: CaptureLog, found: Environment) -> None:
    command: list[str] = []
    events: list[str] = []
    for row in export.rows("META_DATA_CAPTURE"):
        name, value = str(row.get("name")), row.get("value")
        if not isinstance(value, str) or not value:
            continue
        if name.endswith(":ENVIRONMENT_VARIABLE"):
            variable, _, text = value.partition("=")
            take_variable(variable, unquoted(text), found)
        elif name == "PROCESS_0:COMMAND" or name.startswith("PROCESS_0:ARGUMENT_"):
            command.append(value)
        elif name.endswith(":USER_NAME"):
            found.private.users.add(value)
            log.leave_behind("user names", "never copied")
        elif name == "DEVICE_DISPLAY_NAME":
            found.private.hosts.add(value)
        elif name.endswith(":WORKING_DIR"):
            log.leave_behind("working directories", "never copied")
        elif name == "CAPTURE_EVENT_TYPE":
            events.append(value)
        elif is_setting(name):
            log.settings[name.removeprefix("PROCESS_0:").lower()] = value
    if events:
        log.settings["capture_event_type"] = ",".join(sorted(events))
    if command:
        log.command = mask_command(command)


def export_metadata(export: Export) -> dict[str, str]:
    """Return what the export says of itself, from either table that may hold it."""
    return {
        str(row["name"]): str(row["value"])
        for table in ("EXPORT_META_DATA", "META_DATA_EXPORT")
        for row in export.rows(table)
        if row.get("name") and row.get("value") is not None
    }


def _read_export(export: Export, log: CaptureLog, found: Environment) -> None:
    metadata = export_metadata(export)
    log.schema_version = metadata.get("EXPORT_SCHEMA_VERSION")
    if "EXPORT_PRODUCT_VERSION" in metadata:
        log.tools["nsys"] = metadata["EXPORT_PRODUCT_VERSION"]
    if metadata.get("EXPORT_HOST"):
        found.private.hosts.add(metadata["EXPORT_HOST"])
    if metadata.get("EXPORT_USER"):
        found.private.users.add(metadata["EXPORT_USER"])
        log.leave_behind("user names", "never copied")
    for name in ("INCLUDE_BLOBS", "INCLUDE_JSON", "LAZY"):
        value = metadata.get(f"EXPORT_PARAM_{name}")
        if value is not None:
            log.settings[f"export_{name.lower()}"] = value


def _read_start(export: Export, log: CaptureLog) -> None:
    for row in export.rows("TARGET_INFO_SESSION_START_TIME"):
        if isinstance(row.get("utcEpochNs"), int):
            log.start_utc_ns = row["utcEpochNs"]


def origin_utc_ns(export: Export, log: CaptureLog) -> int | None:
    """Return the UTC time of 0 on the export's clock.

    `--ts-normalize=true` writes UTC times; `--ts-shift` moves every time.
    """
    metadata = export_metadata(export)
    shift = 0
    for name in ("EXPORT_PARAM_TIME_SHIFT", "EXPORT_CONFIG_TIME_SHIFT"):
        text = metadata.get(name, "0")
        if re.fullmatch(r"-?\d+", text):
            shift += int(text)
    if metadata.get("EXPORT_PARAM_TIME_NORMALIZE") == "true":
        return -shift
    return None if log.start_utc_ns is None else log.start_utc_ns - shift


def is_setting(name: str) -> bool:
    """Tell whether a name in META_DATA_CAPTURE says how the profiler was set."""
    return _SETTING.fullmatch(name) is not None


def take_variable(variable: str, text: str, found: Environment) -> None:
    """Take a variable if it is on the list; else note that it was withheld.

    Of those that name a person or a machine the value is noted as private.
    """
    if is_allowed_variable(variable):
        found.variables[variable] = text
        return
    found.withheld.add(variable)
    if not text:
        return
    if variable in _HOMES:
        found.private.homes.add(text)
    elif variable in _USERS:
        found.private.users.add(text)
    elif variable in _HOSTS:
        found.private.hosts.add(text)


def unquoted(text: str) -> str:
    """Return the value of a variable as META_DATA_CAPTURE writes it: in quotes."""
    return text.removeprefix('"').removesuffix('"')


def split_variables(text: str) -> Iterator[tuple[str, str]]:
    """Split `A=1;B=2`. A value may hold a semicolon: such a piece names nothing."""
    for piece in text.split(";"):
        variable, equals, value = piece.partition("=")
        if variable and (equals or variable in ALLOWED_VARIABLES):
            yield variable, value
