"""One session answers module after module as if each had its own."""

from tests.conftest import MakeRun
from tracekit.query import ModuleSession, Scope, load_module, run_module
from tracekit.query.scope import parse_window

NAMES = ("kernels.hotspots", "gpu.utilization", "launches.summary", "kernels.hotspots")
SCOPES = (Scope(), Scope(ranks=(1,)), Scope(window=parse_window("10:50")), Scope())


def kernels(device: int, end_ns: int) -> dict[str, str]:
    return {
        "kernel": f"""
            device_id, process_id, name, start_ns, end_ns, correlation_id
            {device},  {device},   gemm,        0, {end_ns}, 1
        """,
        "api_call": f"""
            process_id, thread_id, name,             start_ns, end_ns, correlation_id
            {device},   0,         cudaLaunchKernel,        0, 5,                   1
        """,
    }


def test_what_a_module_saw_is_not_what_the_next_one_sees(run_of: MakeRun) -> None:
    runs = [
        run_of(kernels(0, 60), ranks={1: kernels(1, 70)}, run_id="one"),
        run_of(kernels(0, 80), run_id="two"),
    ]
    with ModuleSession(runs) as session:
        for name in NAMES:
            for scope in SCOPES:
                module = load_module(name)
                together = session.run(module, scope=scope)
                alone = run_module(module, runs, scope=scope)
                assert together.table.equals(alone.table), (name, scope)
                assert together.reasons == alone.reasons
