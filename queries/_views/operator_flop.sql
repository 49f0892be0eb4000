-- operator_flop: the operators whose work follows from their shapes, each counted once.
--
-- Operators of the profiler, and NVTX ranges that name an operator and the sizes of its
-- inputs. Operators nest and repeat the shapes: of those that are counted, one that
-- runs inside of another on its thread is left out, and so is one that only calls
-- others when one of these is seen. What an NVTX range lacks, the size of a
-- convolution's output, is what a later range takes as its input, or what the backward
-- part of the same sizes takes; the gradient of an input counts if a later range uses
-- it. `flop` is NULL, and `reason` says why, where the shapes do not tell. Norms and
-- pointwise operators have bytes instead.
--
-- reads:
--   operator    lookup
--   annotation  lookup

WITH
    named AS (
        SELECT DISTINCT
            name,
            operator_base(name) AS base
        FROM recorded.operator
    ),
    kind AS (
        SELECT
            name,
            base,
            operator_category(base) AS category,
            operator_is_composite(base) AS is_composite
        FROM named
        WHERE operator_category(base) IS NOT NULL
    ),
    -- A range with sizes: `aten::mm, seq = 5, op_id = 9, sizes = [[2, 3], [3, 4]], ...`
    ranged AS (
        SELECT
            process_id,
            thread_id,
            start_ns,
            end_ns,
            text,
            split_part(text, ', ', 1) AS name
        FROM recorded.annotation
        WHERE kind = 'push_pop' AND end_ns IS NOT NULL AND contains(text, ', sizes = [')
    ),
    ranged_kind AS (
        SELECT
            name,
            operator_base(name) AS base,
            operator_category(operator_base(name)) AS category,
            operator_is_composite(operator_base(name)) AS is_composite
        FROM (SELECT DISTINCT name FROM ranged) AS names
    ),
    candidate AS (
        SELECT
            'operator' AS source,
            operator.operator_id,
            operator.process_id,
            operator.thread_id,
            operator.start_ns,
            operator.end_ns,
            operator.name,
            valid_json(operator.input_shapes) AS input_shapes,
            valid_json(operator.input_types) AS input_types,
            valid_json(operator.concrete_inputs) AS concrete_inputs,
            NULL::BIGINT AS op_id,
            kind.base,
            kind.category,
            kind.is_composite
        FROM recorded.operator AS operator
        INNER JOIN kind ON operator.name = kind.name
        WHERE operator.end_ns IS NOT NULL
        UNION ALL
        SELECT
            'annotation' AS source,
            NULL AS operator_id,
            ranged.process_id,
            ranged.thread_id,
            ranged.start_ns,
            ranged.end_ns,
            ranged.name,
            replace(
                regexp_extract(ranged.text, ', sizes = (\[[\[\]0-9, ]*\])', 1), ' ', ''
            ) AS input_shapes,
            NULL AS input_types,
            NULL AS concrete_inputs,
            try_cast(regexp_extract(ranged.text, ', op_id = (\d+)', 1) AS BIGINT)
                AS op_id,
            ranged_kind.base,
            ranged_kind.category,
            ranged_kind.is_composite
        FROM ranged
        INNER JOIN ranged_kind ON ranged.name = ranged_kind.name
        WHERE ranged_kind.category IS NOT NULL
    ),
    -- A composite stands before what it calls also where both take the same time.
    nested AS (
        SELECT
            *,
            max(end_ns) FILTER (WHERE NOT is_composite) OVER earlier AS counted_to,
            max(end_ns) FILTER (WHERE is_composite) OVER earlier AS composite_to,
            max({ 'end_ns': end_ns, 'op_id': op_id }) FILTER (WHERE is_composite)
                OVER earlier AS composite,
            min(start_ns) FILTER (WHERE NOT is_composite) OVER later AS counted_from
        FROM candidate
        WINDOW
            earlier AS (
                PARTITION BY source, process_id, thread_id
                ORDER BY
                    start_ns ASC, end_ns DESC, is_composite DESC, operator_id ASC,
                    op_id ASC
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            later AS (
                PARTITION BY source, process_id, thread_id
                ORDER BY
                    start_ns ASC, end_ns DESC, is_composite DESC, operator_id ASC,
                    op_id ASC
                ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
            )
    ),
    counted AS (
        SELECT
            * EXCLUDE (composite, counted_from),
            CASE
                WHEN composite['end_ns'] >= end_ns THEN composite['op_id'] ELSE op_id
            END AS output_id
        FROM nested
        WHERE
            coalesce(start_ns >= counted_to, TRUE)
            AND NOT (
                is_composite
                AND (
                    coalesce(counted_from < end_ns, FALSE)
                    OR coalesce(start_ns < composite_to, FALSE)
                )
            )
    ),
    -- What later ranges take as input: of which range, and of what sizes.
    convolved AS (
        SELECT DISTINCT
            process_id,
            output_id
        FROM counted
        WHERE category LIKE 'convolution%' AND output_id IS NOT NULL
    ),
    consumer AS (
        SELECT
            process_id,
            replace(
                regexp_extract(text, ', sizes = (\[[\[\]0-9, ]*\])', 1), ' ', ''
            ) AS shapes,
            regexp_extract_all(text, '\((\d+),0\)', 1) AS ids,
            regexp_extract_all(text, '\(\d+,-?\d+\)') AS pairs
        FROM ranged
        WHERE EXISTS (FROM convolved) AND regexp_matches(text, '\([1-9]\d*,0\)')
    ),
    taken AS (
        SELECT
            consumer.process_id,
            convolved.output_id,
            min(
                json_extract(
                    consumer.shapes,
                    '$[' || (
                        list_position(
                            consumer.pairs, '(' || convolved.output_id || ',0)'
                        ) - 1
                    ) || ']'
                )::VARCHAR
            ) AS sizes
        FROM (
            SELECT
                process_id,
                shapes,
                pairs,
                unnest(list_distinct(ids))::BIGINT AS output_id
            FROM consumer
        ) AS consumer
        INNER JOIN convolved
            ON
                consumer.process_id IS NOT DISTINCT FROM convolved.process_id
                AND consumer.output_id = convolved.output_id
        GROUP BY consumer.process_id, convolved.output_id
    ),
    backward_sizes AS (
        SELECT
            json_extract(input_shapes, '$[1]')::VARCHAR AS image,
            json_extract(input_shapes, '$[2]')::VARCHAR AS weight,
            CASE
                WHEN count(DISTINCT json_extract(input_shapes, '$[0]')::VARCHAR) = 1
                    THEN min(json_extract(input_shapes, '$[0]')::VARCHAR)
            END AS sizes
        FROM counted
        WHERE source = 'annotation' AND category = 'convolution_backward'
        GROUP BY ALL
    ),
    sized AS (
        SELECT
            counted.*,
            CASE counted.category
                WHEN 'convolution' THEN coalesce(taken.sizes, backward_sizes.sizes)
            END AS sizes,
            CASE
                WHEN
                    counted.source = 'annotation'
                    AND counted.category = 'convolution_backward'
                    THEN CASE WHEN taken.output_id IS NULL THEN 1 ELSE 2 END
            END AS masked
        FROM counted
        LEFT JOIN taken
            ON
                counted.process_id IS NOT DISTINCT FROM taken.process_id
                AND counted.output_id = taken.output_id
        LEFT JOIN backward_sizes
            ON
                counted.category = 'convolution'
                AND counted.source = 'annotation'
                AND json_extract(counted.input_shapes, '$[0]')::VARCHAR
                = backward_sizes.image
                AND json_extract(counted.input_shapes, '$[1]')::VARCHAR
                = backward_sizes.weight
    ),
    -- Each sort of work is computed once.
    sort AS (
        SELECT DISTINCT
            base,
            category,
            input_shapes,
            input_types,
            concrete_inputs,
            sizes,
            masked
        FROM sized
    ),
    worked AS (
        SELECT
            *,
            CASE category
                WHEN 'matmul' THEN matmul_flop(base, input_shapes)
                WHEN 'convolution'
                    THEN convolution_flop(
                        base,
                        input_shapes,
                        concrete_inputs,
                        coalesce(
                            convolution_output(base, input_shapes, concrete_inputs),
                            try_cast(sizes::JSON AS DOUBLE[])[3:]
                        )
                    )
                WHEN 'convolution_backward'
                    THEN convolution_backward_flop(
                        base, input_shapes, concrete_inputs, masked
                    )
                WHEN 'attention' THEN attention_flop(base, input_shapes)
                WHEN 'attention_backward'
                    THEN attention_backward_flop(base, input_shapes)
                WHEN 'rnn' THEN rnn_flop(base, input_shapes)
                WHEN 'rnn_backward' THEN 2 * rnn_flop(base, input_shapes)
            END AS flop,
            CASE
                WHEN category IN ('normalization', 'pointwise')
                    THEN streamed_bytes(input_shapes, input_types)
            END AS bytes
        FROM sort
    )

SELECT
    sized.source,
    sized.process_id,
    sized.thread_id,
    sized.name,
    sized.category,
    sized.input_shapes,
    precision_of(tensor_type_of(sized.input_types)) AS precision,
    sized.start_ns,
    sized.end_ns,
    worked.flop,
    worked.bytes,
    CASE
        WHEN sized.input_shapes IS NULL THEN 'the shapes of the inputs are not recorded'
        WHEN
            sized.category IN ('normalization', 'pointwise') AND worked.bytes IS NULL
            AND sized.input_types IS NULL
            THEN 'the types of the inputs are not recorded'
        WHEN coalesce(worked.flop, worked.bytes) IS NULL
            THEN 'the recorded shapes and arguments do not tell'
    END AS reason
FROM sized
LEFT JOIN worked
    ON
        sized.base = worked.base
        AND sized.input_shapes IS NOT DISTINCT FROM worked.input_shapes
        AND sized.input_types IS NOT DISTINCT FROM worked.input_types
        AND sized.concrete_inputs IS NOT DISTINCT FROM worked.concrete_inputs
        AND sized.sizes IS NOT DISTINCT FROM worked.sizes
        AND sized.masked IS NOT DISTINCT FROM worked.masked;
