"""Where time, FLOPs and memory went on a GPU."""

__version__ = "0.1.0"
