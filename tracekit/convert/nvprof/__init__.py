"""The databases of nvprof and of the NVIDIA Visual Profiler."""
