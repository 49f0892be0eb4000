-- What kinds of calls there are, told by their names.

-- A call that waits for the GPU, in CUDA and in HIP.
CREATE MACRO is_synchronize_call(name) AS contains(name, 'Synchronize');
