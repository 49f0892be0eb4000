"""What an export says of its machine."""

import pytest

from tracekit.convert.nsys.environment import spelled_version


@pytest.mark.parametrize(
    ("name", "recorded", "version"),
    [
        ("NvDriverVersion", "5303002", "530.30.02"),
        ("NvDriverVersion", "4700500", "470.05.00"),
        ("NvDriverVersion", "580.159.04", "580.159.04"),
        ("CudaDriverVersion", "12010", "12.1"),
        ("CudaDriverVersion", "11080", "11.8"),
        ("CudaDriverVersion", "13000", "13.0"),
        ("CpuCores", "12010", "12010"),
    ],
)
def test_versions_are_spelled_as_usual(name: str, recorded: str, version: str) -> None:
    assert spelled_version(name, recorded) == version
