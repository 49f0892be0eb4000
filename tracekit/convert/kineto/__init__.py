"""Parts of the reader of PyTorch profiler (Kineto) traces."""
