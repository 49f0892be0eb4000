-- What kinds of calls there are, told by their names.

-- A call that waits for the GPU, in CUDA and in HIP.
CREATE MACRO is_synchronize_call(name) AS contains(name, 'Synchronize');

-- A call that puts kernels or a graph on the GPU, in CUDA and in HIP; one that puts a
-- function of the host into a stream does not.
CREATE MACRO is_launch_call(name) AS (
    contains(name, 'Launch') AND NOT contains(name, 'HostFunc')
);
