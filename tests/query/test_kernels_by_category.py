"""kernels.by_category: rules that tell kernels by name."""

import duckdb
import pytest

from tests.conftest import QueryRows
from tests.support.tables import table
from tracekit.query.catalog import macros, rules

RULES = rules("kernel_category")


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for text in macros().values():
        connection.execute(text)
    return connection


def category(database: duckdb.DuckDBPyConnection, name: str) -> str:
    found = database.execute("SELECT kernel_category($name)", {"name": name}).fetchone()
    assert found is not None
    return str(found[0])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.category)
def test_a_rule_is_the_first_to_match_its_example(
    database: duckdb.DuckDBPyConnection, rule: object
) -> None:
    (found,) = [known for known in RULES if known == rule]
    assert category(database, found.example) == found.category


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "communication"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "communication"),
        ("rcclGenericKernel<1, true>", "communication"),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", "attention"),
        ("sm80_xmma_dgrad_implicit_gemm_indexed_f32f32", "convolution"),
        ("void cudnn::winograd_nonfused::winogradForwardData4x4", "convolution"),
        ("void conv2d_grouped_direct_kernel<float>", "convolution"),
        (
            "void at::native::vectorized_layer_norm_kernel<float, float>",
            "normalization",
        ),
        ("void softmax_warp_forward<float, float, float, 6>", "normalization"),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", "gemm"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>", "gemm"),
        ("Cijk_Ailk_Bljk_SB_MT64x32x8", "gemm"),
        ("void gemmSN_NN_kernel<float, 128>", "gemm"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>", "gemm"),
        ("void at::native::CatArrayBatchedCopy<float>", "copy"),
        (
            "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>",
            "copy",
        ),
        ("triton_poi_fused_add_relu_0", "pointwise"),
        ("triton_red_fused_mean_1", "reduction"),
        ("void (anonymous)::multimem_all_reduce_kernel<BFloat16, 16>", "communication"),
        ("void vllm::cross_device_reduce_1stage<__half, 8>", "communication"),
        ("allreduce_fusion_kernel_oneshot_lamport<6, __half, 8>", "communication"),
        ("void nvshmemi_transfer_rma_block", "communication"),
        ("void at::native::vectorized_gather_kernel<16, long>", "indexing"),
        ("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal", "attention"),
        ("flashinfer::BatchPrefillWithPagedKVCacheKernel<1>", "attention"),
        ("void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits>", "attention"),
        ("ck_tile::FmhaBwdDQDKDVKernel<BlockFmhaBwdPipeline>", "attention"),
        ("void vllm::reshape_and_cache_flash_kernel<__half, __half>", "copy"),
        (
            "void quantize_with_block_size<2>(flashinfer::QuantizationSFLayout)",
            "pointwise",
        ),
        ("cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", "convolution"),
        ("cudnn_train_volta_scudnn_128x64_stridedB_splitK_medium_nn_v1", "convolution"),
        ("void cask_cudnn_infer::computeOffsetsKernel<true>", "convolution"),
        ("void fft2d_r2c_32x32<float>(float2*, cudnn::reduced_divisor)", "convolution"),
        ("miopenSp3AsmConv_v30_2_6_gfx9_fp32_stride1", "convolution"),
        ("igemm_fwd_gtcx_nhwc_fp32_bx0_ex0_bt128x128x16", "convolution"),
        ("Im2d2Col", "convolution"),
        ("MIOpenBatchNormFwdTrainSpatial", "normalization"),
        (
            "void transformer_engine::normalization::ln_fwd_tuned_kernel",
            "normalization",
        ),
        ("triton_softmax_5", "normalization"),
        ("triton_per_fused_native_layer_norm_2", "normalization"),
        ("void GENERIC_elementWise_bp2<float, (cudnnRNNBiasMode_t)2>", "rnn"),
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16", "gemm"),
        ("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3", "gemm"),
        ("void fused_moe_kernel", "gemm"),
        ("triton_tem_fused_addmm_3", "gemm"),
        ("gemm_fusion_dot_7", "gemm"),
        ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal>", "gemm"),
        ("void gemv2T_kernel_val<int, float, 128>", "gemm"),
        ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int)", "indexing"),
        ("void bounds_check_indices_kernel<long>(fbgemm_gpu::Accessor)", "indexing"),
        ("void moe::dev::finalize::finalizeKernel<cutlass::bfloat16_t>", "indexing"),
        ("void split_embedding_backward_codegen_rowwise_adagrad_kernel", "indexing"),
        ("void permute_pooled_embs_kernel<float>(float const*)", "indexing"),
        ("void AdaptiveAveragePool<float>(float const*)", "pooling"),
        ("__amd_rocclr_copyBuffer", "copy"),
        ("__amd_rocclr_fillBufferAligned", "copy"),
        ("input_concatenate_fusion", "copy"),
        ("void nhwcAddPaddingKernel<float>(cudnn::reduced_divisor)", "copy"),
        ("triton_poi_fused__to_copy_convolution_1", "pointwise"),
        ("triton_red_fused_convolution_backward_3", "reduction"),
        ("input_reduce_fusion", "reduction"),
        ("loop_add_fusion", "pointwise"),
        ("fusion_12", "pointwise"),
        ("wrapped_convert", "pointwise"),
        ("void vllm::rotary_embedding_kernel<__half, true>", "pointwise"),
        ("void vllm::scaled_fp8_quant_kernel_strided<__half>", "pointwise"),
        ("void mshadow::cuda::MapPlanKernel<mshadow::sv::saveto, 8>", "pointwise"),
        ("void convert_to_float<int>(int *)", "other"),
        ("my_own_kernel", "other"),
    ],
)
def test_well_known_kernels(
    database: duckdb.DuckDBPyConnection, name: str, expected: str
) -> None:
    assert category(database, name) == expected


def test_times_of_a_category_are_summed(query_rows: QueryRows) -> None:
    rows = query_rows(
        "kernels.by_category",
        kernel="""
            device_id, name, canonical_name,           start_ns, end_ns
            0,         a,    ampere_sgemm_128x64_nn,          0,     60
            0,         b,    ampere_sgemm_64x64_nn,          60,     80
            0,         b,    ampere_sgemm_64x64_nn,          80,    100
            0,         nccl, NULL,                          100,    120
            0,         NULL, NULL,                          120,    130
            1,         c,    mine,                            0,      7
        """,
    )
    assert rows == table("""
        device_id, category,      kernels, launches, total_ns, time_share, mean_ns, median_ns, top_kernel,             top_total_ns
        0,         gemm,                2,        3,      100,      0.769,  33.333,      20.0, ampere_sgemm_128x64_nn,           60
        0,         communication,       1,        1,       20,      0.154,    20.0,      20.0, nccl,                             20
        0,         other,               1,        1,       10,      0.077,    10.0,      10.0, NULL,                             10
        1,         other,               1,        1,        7,        1.0,     7.0,       7.0, mine,                              7
    """)  # noqa: E501 - a table is read across


def test_a_run_without_kernels_has_no_rows(query_rows: QueryRows) -> None:
    assert query_rows("kernels.by_category") == []
