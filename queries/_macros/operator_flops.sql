-- Floating-point operations of framework operators from the shapes of their inputs.
--
-- A multiply-add counts 2, as in PyTorch's FlopCounterMode, whose totals these equal
-- for products, convolutions and attention; groups of a convolution are counted as they
-- are computed. Counts are DOUBLE, exact up to 2^53 for one operator.

-- The operator without its namespace, overload and mark of working in place.
CREATE MACRO operator_base(name) AS
regexp_replace(regexp_replace(name, '^(aten|flash_attn)::', ''), '_?(\..*)?$', '');

-- What kind of work an operator is; NULL for those without a count.
CREATE MACRO operator_category(base) AS CASE
    WHEN
        base IN (
            'mm', 'addmm', '_addmm_activation', 'bmm', 'baddbmm', 'addbmm', 'mv',
            'addmv', 'dot', 'vdot', 'matmul', 'linear', '_scaled_mm', '_int_mm',
            '_grouped_mm', '_scaled_grouped_mm'
        )
        THEN 'matmul'
    WHEN regexp_matches(base, '^convolution_backward(_overrideable)?$')
        THEN 'convolution_backward'
    WHEN
        regexp_matches(
            base,
            '^(_?convolution|convolution_overrideable|conv(_transpose)?[123]d'
            || '|(cudnn|miopen|mkldnn)_convolution(_transpose)?)$'
        )
        THEN 'convolution'
    WHEN
        regexp_matches(
            base,
            '^(_scaled_dot_product_(flash|efficient|cudnn|fused)_attention'
            || '|_(flash|efficient|cudnn)_attention|_flash_attn).*_backward$'
        )
        THEN 'attention_backward'
    WHEN
        regexp_matches(
            base,
            '^(_scaled_dot_product_(flash|efficient|cudnn|fused)_attention'
            || '|_(flash|efficient|cudnn)_attention_forward|_flash_attn_forward'
            || '|scaled_dot_product_attention)'
        )
        THEN 'attention'
    WHEN regexp_matches(base, '^(_cudnn|miopen)_rnn_backward$') THEN 'rnn_backward'
    WHEN base IN ('_cudnn_rnn', 'miopen_rnn', 'lstm', 'gru', 'rnn_tanh', 'rnn_relu')
        THEN 'rnn'
    WHEN regexp_matches(base, '(batch|layer|group|instance|rms)_norm')
        THEN 'normalization'
    WHEN
        regexp_matches(
            base,
            '^(_foreach_)?(add|sub|rsub|mul|div|neg|abs|exp|log|sqrt|rsqrt|pow|erf'
            || '|where|lerp|addcmul|addcdiv|relu|leaky_relu|threshold|clamp(_min|_max)?'
            || '|gelu'
            || '|silu|elu|mish|softplus|hardtanh|sigmoid|tanh|maximum|minimum|eq|ne|lt'
            || '|gt|le|ge|(native_|fused_)?dropout|masked_fill|reciprocal)(_backward)?$'
        )
        THEN 'pointwise'
END;

-- Whether an operator only calls others that are counted: it counts where none is seen.
CREATE MACRO operator_is_composite(base) AS (
    base IN (
        'matmul', 'linear', 'scaled_dot_product_attention', 'lstm', 'gru', 'rnn_tanh',
        'rnn_relu'
    )
    OR regexp_matches(base, '^conv(_transpose)?[123]d$')
);

CREATE MACRO valid_json(text) AS CASE WHEN json_valid(text) THEN text END;

-- The sizes of input `i`; NULL for a list of tensors and where there is none.
CREATE MACRO input_dims(shapes, i) AS
try_cast(json_extract(shapes, '$[' || i || ']') AS double[]);

CREATE MACRO elements(dims) AS coalesce(list_product(dims), 1.0);

-- A list of tensors: the sum of the elements of those with `rank` sizes or more.
CREATE MACRO list_elements(shapes, i, rank) AS list_sum(
    list_transform(
        list_filter(
            try_cast(json_extract(shapes, '$[' || i || ']') AS double[][]),
            LAMBDA dims: len(dims) >= rank
        ),
        LAMBDA dims: list_product(dims)
    )
);

-- Sizes that two inputs of a product share in front of their matrices, broadcast.
CREATE MACRO broadcast_elements(a, b) AS coalesce(
    list_product(
        list_transform(
            generate_series(3, greatest(len(a), len(b))),
            LAMBDA n: greatest(
                coalesce(CASE WHEN n <= len(a) THEN a[-n] END, 1),
                coalesce(CASE WHEN n <= len(b) THEN b[-n] END, 1)
            )
        )
    ),
    1.0
);

-- A product of two tensors, as matmul takes them.
CREATE MACRO product_flop(a, b) AS CASE
    WHEN len(a) = 0 OR len(b) = 0 THEN NULL
    WHEN len(b) = 1 THEN 2 * list_product(a)
    WHEN len(a) = 1 THEN 2 * list_product(b)
    ELSE 2 * broadcast_elements(a, b) * a[-2] * a[-1] * b[-1]
END;

CREATE MACRO matmul_flop(base, shapes) AS CASE
    WHEN base IN ('addmm', '_addmm_activation', 'baddbmm', 'addbmm', 'addmv')
        THEN product_flop(input_dims(shapes, 1), input_dims(shapes, 2))
    WHEN base = 'linear'
        THEN 2 * list_product(input_dims(shapes, 0)) * input_dims(shapes, 1)[1]
    -- Rows of one side are parted among the groups; each meets one matrix.
    WHEN base IN ('_grouped_mm', '_scaled_grouped_mm')
        THEN
            CASE
                WHEN len(input_dims(shapes, 0)) = 3 AND len(input_dims(shapes, 1)) = 3
                    THEN product_flop(input_dims(shapes, 0), input_dims(shapes, 1))
                ELSE
                    2 * input_dims(shapes, 0)[-2] * input_dims(shapes, 0)[-1]
                    * input_dims(shapes, 1)[-1]
            END
    ELSE product_flop(input_dims(shapes, 0), input_dims(shapes, 1))
END;

-- A list of integers among the scalar inputs, such as a stride.
CREATE MACRO integers_of(concrete, i) AS
try_cast(json_extract_string(concrete, '$[' || i || ']') AS double[]);

-- The sizes of the image that a convolution makes; a list of one number counts for
-- each dimension.
CREATE MACRO convolved(image, kernel, stride, padding, dilation) AS list_transform(
    generate_series(1, len(image)),
    LAMBDA n: floor(
        (
            image[n] + 2 * padding[least(n, len(padding))]
            - dilation[least(n, len(dilation))] * (kernel[n] - 1) - 1
        ) / stride[least(n, len(stride))]
    ) + 1
);

CREATE MACRO convolution_image(shapes, concrete, stride, padding, dilation) AS CASE
    WHEN
        len(integers_of(concrete, stride)) > 0
        AND len(integers_of(concrete, padding)) > 0
        AND len(integers_of(concrete, dilation)) > 0
        THEN convolved(
            input_dims(shapes, 0)[3:],
            input_dims(shapes, 1)[3:],
            integers_of(concrete, stride),
            integers_of(concrete, padding),
            integers_of(concrete, dilation)
        )
END;

-- Where stride, padding and dilation stand among the inputs of a convolution.
CREATE MACRO convolution_output(base, shapes, concrete) AS CASE
    WHEN base IN ('convolution', '_convolution', 'convolution_overrideable')
        THEN convolution_image(shapes, concrete, 3, 4, 5)
    WHEN regexp_matches(base, '^conv[123]d$')
        THEN convolution_image(shapes, concrete, 3, 4, 5)
    WHEN base = 'cudnn_convolution'
        THEN convolution_image(shapes, concrete, 3, 2, 4)
    WHEN base IN ('miopen_convolution', 'mkldnn_convolution')
        THEN convolution_image(shapes, concrete, 4, 3, 5)
END;

CREATE MACRO is_transposed(base, concrete) AS (
    contains(base, 'transpose')
    OR (
        base IN ('convolution', '_convolution', 'convolution_overrideable')
        AND json_extract_string(concrete, '$[6]') = 'True'
    )
    OR (
        contains(base, 'backward') AND json_extract_string(concrete, '$[7]') = 'True'
    )
);

-- Each pixel of the smaller image meets the whole filter: the output of a convolution,
-- the input of a transposed one. `image` is that output, where it is known.
CREATE MACRO convolution_flop(base, shapes, concrete, image) AS CASE
    WHEN len(input_dims(shapes, 1)) < 3 THEN NULL
    WHEN is_transposed(base, concrete)
        THEN
            2 * list_product(input_dims(shapes, 0)[1:1])
            * elements(input_dims(shapes, 0)[3:]) * list_product(input_dims(shapes, 1))
    ELSE
        2 * list_product(input_dims(shapes, 0)[1:1]) * list_product(image)
        * list_product(input_dims(shapes, 1))
END;

-- How many of input and weight a mask such as [True, True, False] asks for.
CREATE MACRO gradients_of(mask) AS CASE
    WHEN contains(mask, 'e')
        THEN
            (lower(trim(split_part(mask[2:], ',', 1))) = 'true')::integer
            + (lower(trim(split_part(mask, ',', 2))) = 'true')::integer
END;

-- Each gradient that is asked for takes as much as the forward part. `masked` has how
-- many of both, where a trace has no mask.
CREATE MACRO convolution_backward_flop(base, shapes, concrete, masked) AS
2 * list_product(input_dims(shapes, 1)[1:1])
* elements(
    CASE
        WHEN is_transposed(base, concrete) THEN input_dims(shapes, 1)[3:]
        ELSE input_dims(shapes, 0)[3:]
    END
)
* list_product(input_dims(shapes, 2))
* coalesce(gradients_of(json_extract_string(concrete, '$[10]')), masked);

CREATE MACRO heads_last(base) AS (
    NOT contains(base, 'scaled_dot_product') AND NOT contains(base, 'cudnn')
);

-- Two products forward, five backward (one repeats the scores); a causal mask is not
-- taken off. q, k and v are [batch, heads, length, size], or with heads after length.
CREATE MACRO attention_flop(base, shapes) AS CASE
    WHEN len(input_dims(shapes, 0)) <> 4 OR len(input_dims(shapes, 2)) <> 4 THEN NULL
    ELSE
        2 * list_product(input_dims(shapes, 0)[1:3])
        * input_dims(shapes, 1)[CASE WHEN heads_last(base) THEN 2 ELSE 3 END]
        * (input_dims(shapes, 0)[4] + input_dims(shapes, 2)[4])
END;

CREATE MACRO attention_backward_flop(base, shapes) AS CASE
    WHEN len(input_dims(shapes, 1)) <> 4 OR len(input_dims(shapes, 3)) <> 4 THEN NULL
    ELSE
        2 * list_product(input_dims(shapes, 1)[1:3])
        * input_dims(shapes, 2)[CASE WHEN heads_last(base) THEN 2 ELSE 3 END]
        * (3 * input_dims(shapes, 1)[4] + 2 * input_dims(shapes, 3)[4])
END;

-- Every matrix among the weights meets each element of the sequences once.
CREATE MACRO rnn_flop(base, shapes) AS
2 * list_product(input_dims(shapes, 0)) / nullif(input_dims(shapes, 0)[-1], 0)
* list_elements(shapes, CASE WHEN base LIKE '%\_rnn%' ESCAPE '\' THEN 1 ELSE 2 END, 2);
