-- Bytes of framework operators from the shapes and types of their inputs.

-- Bytes of an element of a type as PyTorch names it; NULL for what is no tensor.
CREATE MACRO element_bytes(type) AS CASE
    WHEN type IN ('double', 'long int', 'c10::complex<float>') THEN 8
    WHEN type IN ('float', 'int') THEN 4
    WHEN type IN ('c10::Half', 'c10::BFloat16', 'short int', 'short') THEN 2
    WHEN
        type IN ('bool', 'unsigned char', 'signed char', 'char')
        OR starts_with(type, 'c10::Float8')
        THEN 1
    WHEN type = 'c10::complex<double>' THEN 16
END;

-- What the arithmetic of an operator is done in, by the type of a tensor; NULL for
-- other types.
CREATE MACRO precision_of(type) AS CASE
    WHEN type = 'float' THEN 'fp32'
    WHEN type = 'double' THEN 'fp64'
    WHEN type = 'c10::Half' THEN 'fp16'
    WHEN type = 'c10::BFloat16' THEN 'bf16'
    WHEN starts_with(type, 'c10::Float8') THEN 'fp8'
    WHEN type IN ('signed char', 'unsigned char', 'char') THEN 'int8'
END;

-- The first type of a tensor among the types of the inputs.
CREATE MACRO tensor_type_of(types) AS list_filter(
    try_cast(types::json AS varchar[]), LAMBDA type: precision_of(type) IS NOT NULL
)[1];

-- Bytes of each tensor among the inputs.
CREATE MACRO input_bytes(shapes, types) AS list_filter(
    list_transform(
        generate_series(0, json_array_length(types)::bigint - 1),
        LAMBDA i:
        elements(input_dims(shapes, i))
        * element_bytes(json_extract_string(types, '$[' || i || ']'))
    ),
    LAMBDA bytes: bytes IS NOT NULL
);

-- Every input is read once, and an output like the largest of them is written once.
CREATE MACRO streamed_bytes(shapes, types) AS
list_sum(input_bytes(shapes, types)) + list_max(input_bytes(shapes, types));
