"""MXNet: the trace of its profiler, and the totals it prints."""
