"""CNTK: the detail file of its profiler, and the summary beside it."""
