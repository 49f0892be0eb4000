"""The workloads in TensorFlow with Keras 3: 2.16 and later. Run on CPUs only so far."""

import os

# Its log of what it found on the machine is no output of a workload.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"

# Before Keras, which imports it half way: what waits for TensorFlow may need Keras.
import tensorflow  # noqa: F401 - see above
