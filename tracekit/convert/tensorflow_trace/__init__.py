"""Chrome traces of TensorFlow: the profiler's trace viewer, and TF1's timeline."""
