-- Work of the GPU in NVIDIA's words, as the reports of `nsys stats` print them. Each
-- macro takes the columns activity and name of gpu_activity.

-- CUDA_KERNEL and MEMORY_OPER are NVIDIA's; its reports leave graphs out.
CREATE MACRO operation_category(activity) AS CASE activity
    WHEN 'kernel' THEN 'CUDA_KERNEL'
    WHEN 'graph_launch' THEN 'CUDA_GRAPH'
    ELSE 'MEMORY_OPER'
END;

-- A kernel and a graph keep their names.
CREATE MACRO operation_name(activity, name) AS CASE activity
    WHEN 'memset' THEN '[CUDA memset]'
    WHEN 'memcpy'
        THEN '[CUDA memcpy ' || CASE name
            WHEN 'HtoD' THEN 'Host-to-Device'
            WHEN 'DtoH' THEN 'Device-to-Host'
            WHEN 'HtoA' THEN 'Host-to-Array'
            WHEN 'AtoH' THEN 'Array-to-Host'
            WHEN 'AtoA' THEN 'Array-to-Array'
            WHEN 'AtoD' THEN 'Array-to-Device'
            WHEN 'DtoA' THEN 'Device-to-Array'
            WHEN 'DtoD' THEN 'Device-to-Device'
            WHEN 'HtoH' THEN 'Host-to-Host'
            WHEN 'PtoP' THEN 'Peer-to-Peer'
            WHEN 'unified_HtoD' THEN 'Unified Host-to-Device'
            WHEN 'unified_DtoH' THEN 'Unified Device-to-Host'
            WHEN 'unified_DtoD' THEN 'Unified Device-to-Device'
            WHEN 'decompress' THEN 'Decompress'
            ELSE 'Unknown'
        END || ']'
    ELSE name
END;
