-- user_process: which processes used which GPU.
--
-- reads:
--   gpu_activity  lookup

SELECT DISTINCT
    process_id,
    device_id
FROM recorded.gpu_activity;
