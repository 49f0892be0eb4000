"""Kernel and API names in one spelling."""

import pytest

from tracekit.convert.names import api_name, base_name, demangle, normal_form

SYMBOL = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
    "St5arrayIPcLm1EEEEviT0_T1_"
)
DEMANGLED = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, "
    "std::array<char*, 1ul>)"
)


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC_v11060"),
        ("cuMemFree_v2", "cuMemFree_v2"),
        ("cudaMemcpyAsync_v3020_x", "cudaMemcpyAsync_v3020_x"),
        ("cuInit", "cuInit"),
    ],
)
def test_api_names_lose_a_version_of_four_digits(recorded: str, name: str) -> None:
    assert api_name(recorded) == name


def test_symbols_are_demangled() -> None:
    assert demangle(SYMBOL) == DEMANGLED


@pytest.mark.parametrize("symbol", ["gemm", "_Znonsense", "_Z\0x", "_Z" + "a" * 99999])
def test_what_is_no_symbol_stays(symbol: str) -> None:
    assert demangle(symbol) == symbol


@pytest.mark.parametrize(
    ("recorded", "form"),
    [
        (DEMANGLED, DEMANGLED),
        (
            "void  f<(int)4, (bool)1, (bool)0>(float *)",
            "void f<4, true, false>(float*)",
        ),
        ("f<(unsigned long)3, (long)-2>", "f<3ul, -2l>"),
        ("g<a<b<c>>>(const T1 &)", "g<a<b<c> > >(const T1&)"),
        ("h::<unnamed>::k", "h::(anonymous namespace)::k"),
        ("(cudnnKernelDataType_t)2", "(cudnnKernelDataType_t)2"),
    ],
)
def test_recorded_names_take_the_demanglers_spelling(recorded: str, form: str) -> None:
    assert normal_form(recorded) == form
    assert normal_form(form) == form


@pytest.mark.parametrize(
    ("name", "base"),
    [
        (DEMANGLED, "vectorized_elementwise_kernel"),
        ("void a::b<int>::c<4>(float*)", "c"),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        ("sm80_xmma_gemm", "sm80_xmma_gemm"),
        ("", ""),
    ],
)
def test_base_names(name: str, base: str) -> None:
    assert base_name(name) == base
