-- memory_origin: the events of the allocators in order, and what was running in each.
--
-- One row an event of `memory_event` that allocates, frees or changes a class. `place`
-- counts them. `phase` is backward, optimizer or forward: from the call stack, else
-- from the operators and ranges of the thread, else from TensorFlow's scopes; NULL
-- where nothing tells. `hint` is the class that the origin alone settles. phase_end_ns
-- is the end of the node of the backward pass or of the optimizer's step that ran then,
-- operator_end_ns that of the innermost operator; NULL where they are not known.
--
-- reads:
--   memory_event  lookup
--   memory_order  lookup
--   call_stack    lookup
--   operator      lookup
--   annotation    lookup
--   module        lookup

WITH
    event AS NOT MATERIALIZED (FROM recorded.memory_order),
    traced AS (
        SELECT DISTINCT
            process_id,
            thread_id
        FROM recorded.memory_event
        WHERE thread_id IS NOT NULL AND allocator <> 'cuda'
    ),
    -- Paths of files may have been cut down to names, to take folders out.
    stack AS (
        SELECT
            call_stack_id,
            bool_or(regexp_matches(symbol, '(?i)workspace')) AS is_workspace,
            bool_or(
                regexp_matches(symbol, '^c10d::')
                OR regexp_matches(file, 'torch/distributed/distributed_c10d\.py$')
            ) AS is_communication,
            bool_or(
                regexp_matches(symbol, '^torch::autograd::Engine')
                OR (
                    regexp_matches(
                        file,
                        'torch/(autograd/(__init__|graph)|_tensor)\.py$'
                        || '|^(__init__|graph|_tensor)\.py$'
                    )
                    AND regexp_matches(symbol, 'backward|^grad$|^_make_grads$')
                )
            ) AS is_backward,
            bool_or(regexp_matches(file, '(torch/utils/|^)checkpoint\.py$'))
                AS is_checkpoint,
            bool_or(regexp_matches(file, 'torch/optim/|^optimizer\.py$'))
                AS is_optimizer,
            bool_or(
                regexp_matches(file, 'torch/optim/|^\w+\.py$')
                AND regexp_matches(symbol, '^_init_(group|state)$')
            ) AS is_state,
            bool_or(
                regexp_matches(file, 'torch/nn/modules/')
                AND regexp_matches(
                    symbol, '^(_apply|convert|__init__|reset_parameters)$'
                )
            ) AS is_model,
            bool_or(
                regexp_matches(symbol, '_call_impl$')
                OR regexp_matches(file, 'torch/nn/modules/')
            ) AS is_module,
            bool_or(
                regexp_matches(
                    symbol, '^at::(native::(_to_copy|to)|_ops::(_to_copy|to))\b'
                )
            ) AS is_copy
        FROM recorded.call_stack
        GROUP BY call_stack_id
    ),
    -- Nodes of the backward pass and steps of the optimizer: they hardly nest, so the
    -- last that began is the one, if it is open.
    spanned AS (
        SELECT
            operator.process_id,
            operator.thread_id,
            'backward' AS phase,
            operator.start_ns,
            operator.end_ns
        FROM recorded.operator AS operator
        SEMI JOIN traced
            ON
                operator.process_id = traced.process_id
                AND operator.thread_id = traced.thread_id
        WHERE operator.name LIKE 'autograd::engine::evaluate_function%'
        UNION ALL
        SELECT
            annotation.process_id,
            annotation.thread_id,
            'optimizer' AS phase,
            annotation.start_ns,
            annotation.end_ns
        FROM recorded.annotation AS annotation
        SEMI JOIN traced
            ON
                annotation.process_id = traced.process_id
                AND annotation.thread_id = traced.thread_id
        WHERE annotation.text LIKE 'Optimizer.step#%'
    ),
    -- Named in text below.
    nesting AS NOT MATERIALIZED ( -- noqa: ST03
        SELECT
            (operator.process_id::BIGINT << 32) + operator.thread_id AS key,
            operator.operator_id AS place,
            operator.start_ns,
            operator.end_ns
        FROM recorded.operator AS operator
        SEMI JOIN traced
            ON
                operator.process_id = traced.process_id
                AND operator.thread_id = traced.thread_id
        -- What makes a tensor is not what it is made for.
        WHERE NOT regexp_matches(operator.name, '^aten::(empty|resize_|new_empty)')
    ),
    innermost AS (FROM innermost_range('nesting')),
    layered AS NOT MATERIALIZED ( -- noqa: ST03
        SELECT
            (module.process_id::BIGINT << 32) + module.thread_id AS key,
            row_number() OVER (ORDER BY module.start_ns ASC, module.end_ns DESC)
                AS place,
            coalesce(module.path, module.name) AS layer,
            module.start_ns,
            module.end_ns
        FROM recorded.module AS module
        SEMI JOIN traced
            ON
                module.process_id = traced.process_id
                AND module.thread_id = traced.thread_id
    ),
    inner_layer AS (FROM innermost_range('layered')),
    in_span AS (
        SELECT
            event.*,
            CASE WHEN event.time_ns < spanned.end_ns THEN spanned.phase END
                AS span_phase,
            CASE WHEN event.time_ns < spanned.end_ns THEN spanned.end_ns END
                AS phase_end_ns
        FROM event
        ASOF LEFT JOIN spanned
            ON
                event.process_id = spanned.process_id
                AND event.thread_id = spanned.thread_id
                AND event.time_ns >= spanned.start_ns
    ),
    in_operator AS (
        SELECT
            in_span.*,
            innermost.place AS operator_id
        FROM in_span
        ASOF LEFT JOIN innermost
            ON
                (in_span.process_id::BIGINT << 32) + in_span.thread_id = innermost.key
                AND in_span.time_ns >= innermost.at_ns
    ),
    in_layer AS (
        SELECT
            in_operator.*,
            inner_layer.place AS layer_place
        FROM in_operator
        ASOF LEFT JOIN inner_layer
            ON
                (in_operator.process_id::BIGINT << 32) + in_operator.thread_id
                = inner_layer.key
                AND in_operator.time_ns >= inner_layer.at_ns
    )

SELECT
    placed.place,
    placed.process_id,
    placed.device_id,
    placed.memory_kind,
    placed.allocator,
    placed.stream_id,
    placed.time_ns,
    placed.kind,
    placed.address,
    placed.bytes,
    placed.requested_bytes,
    placed.total_allocated_bytes,
    placed.total_reserved_bytes,
    placed.memory_class,
    placed.class_source,
    coalesce(placed.layer, layered.layer) AS layer,
    coalesce(placed.tag, operator.name) AS tag,
    placed.region,
    placed.data_type,
    placed.shape,
    placed.call_stack_id,
    CASE
        WHEN stack.is_backward THEN 'backward'
        WHEN stack.is_optimizer THEN 'optimizer'
        WHEN stack.call_stack_id IS NOT NULL THEN 'forward'
        WHEN placed.span_phase IS NOT NULL THEN placed.span_phase
        WHEN placed.operator_id IS NOT NULL THEN 'forward'
        WHEN placed.tag IS NULL THEN NULL
        WHEN regexp_matches(placed.tag, '(^|/)gradient(_tape|s)(_\d+)?(/|$)')
            THEN 'backward'
        WHEN
            regexp_matches(
                placed.tag,
                '(?i)(^|/)(adam|adamw|sgd|rmsprop|momentum|adagrad|adadelta|ftrl|lamb'
                || '|lion|nadam|adamax)(_\d+)?/'
            )
            THEN 'optimizer'
        ELSE 'forward'
    END AS phase,
    CASE
        WHEN placed.region = 'temp' OR stack.is_workspace THEN 'workspace'
        WHEN stack.is_communication THEN 'communication'
        WHEN stack.is_state THEN 'dynamic'
        WHEN stack.is_model AND stack.is_backward IS NOT TRUE THEN 'weights'
        WHEN stack.is_backward AND stack.is_checkpoint THEN 'feature_maps'
        WHEN
            stack.is_copy
            AND stack.is_module IS NOT TRUE
            AND stack.is_backward IS NOT TRUE
            AND stack.is_optimizer IS NOT TRUE
            THEN 'input'
    END AS hint,
    placed.phase_end_ns,
    operator.end_ns AS operator_end_ns
FROM in_layer AS placed
LEFT JOIN stack ON placed.call_stack_id = stack.call_stack_id
LEFT JOIN recorded.operator AS operator ON placed.operator_id = operator.operator_id
LEFT JOIN layered ON placed.layer_place = layered.place;
