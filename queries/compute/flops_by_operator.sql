-- compute.flops_by_operator: work of framework operators, from their shapes.
--
-- FLOP of products, convolutions, attention and recurrent layers follow from the sizes
-- of the inputs, a multiply-add counting 2; norms and pointwise operators have bytes
-- instead: every input read once, an output like the largest of them written once.
-- Operators nest and repeat the shapes: one level is counted. Sizes come from the
-- profiler's operators, or from NVTX ranges that name them (PyTorch's emit_nvtx with
-- shapes). The forward counts equal those of PyTorch's FlopCounterMode, and so do the
-- backward ones without groups; recurrent layers of cuDNN, which it leaves out, are
-- counted. What the hardware executes is more where it pads, and less where an
-- algorithm saves work: compute.pipes has that.
--
-- reads:
--   operator_flop  rows
-- needs:
--   operator_flop
-- parameters:
--   by     VARCHAR = name    One of name, shape or category: how operators are told
--                            apart.
--   limit  BIGINT = 20       Rows to return, 0 for all.
-- columns:
--   category       VARCHAR  matmul, convolution, attention or rnn, each also with
--                           _backward where it is known; normalization or pointwise.
--   operator_name  VARCHAR  The operator; NULL by category.
--   input_shapes   VARCHAR  Sizes of its inputs; NULL unless by shape.
--   precision      VARCHAR  fp32, fp64, fp16, bf16, fp8 or int8; NULL where the types
--                           are not recorded.
--   calls          BIGINT   Operators that were counted.
--   flop           DOUBLE   Their FLOP; NULL where shapes do not tell it.
--   flop_share     DOUBLE   flop over that of all, 0 to 1.
--   bytes          DOUBLE   Their bytes, for norms and pointwise operators.
--   uncounted      BIGINT   Calls without FLOP and bytes.
--   reason         VARCHAR  Why those have none.

WITH
    grouped AS (
        SELECT
            category,
            CASE WHEN $by <> 'category' THEN name END AS operator_name,
            CASE WHEN $by = 'shape' THEN input_shapes END AS input_shapes,
            precision,
            count(*) AS calls,
            sum(flop) AS flop,
            sum(bytes) AS bytes,
            count(*) FILTER (WHERE flop IS NULL AND bytes IS NULL) AS uncounted,
            min(reason) AS reason
        FROM operator_flop
        GROUP BY ALL
    )

SELECT
    category,
    operator_name,
    input_shapes,
    precision,
    calls,
    flop,
    flop / nullif(sum(flop) OVER (), 0) AS flop_share,
    bytes,
    uncounted,
    reason
FROM grouped
ORDER BY
    flop DESC NULLS LAST, bytes DESC NULLS LAST, calls DESC, category ASC,
    operator_name ASC, input_shapes ASC, precision ASC
LIMIT CASE WHEN $limit = 0 THEN NULL ELSE $limit END;
