"""The workloads in PyTorch, 2.11 and later."""
