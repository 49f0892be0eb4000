-- What kinds of calls there are, told by their names.

-- A call that waits for the GPU, in CUDA and in HIP.
CREATE MACRO is_synchronize_call(name) AS contains(name, 'Synchronize');

-- A call that puts kernels or a graph on the GPU, in CUDA and in HIP; one that puts a
-- function of the host into a stream does not.
CREATE MACRO is_launch_call(name) AS (
    contains(name, 'Launch') AND NOT contains(name, 'HostFunc')
);

-- A kernel that exchanges data between GPUs: NCCL's and RCCL's. The category
-- `communication` has those of other libraries, too, by a guess at their names.
CREATE MACRO is_communication_kernel(name) AS regexp_matches(name, '(?i)nccl|rccl');

-- A range or an operator of a framework in which data is read for training: PyTorch's
-- `enumerate(DataLoader)#...__next__`, TensorFlow's `IteratorGetNext`, MXNet's
-- `DataIter`, and what programs call it by themselves, such as `load_batch` or `data`.
CREATE MACRO is_data_loading(name) AS regexp_matches(
    name,
    '(?i)data_?(loader|iter|wait|load|fetch)|data (loading|wait|load|fetch)'
    || '|(load|get|next|fetch|read|wait)[_ ]?(for[_ ])?(the )?(batch|data)'
    || '|iteratorgetnext|^data$|prefetch'
);
