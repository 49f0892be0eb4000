"""The workloads in TensorFlow with Keras 3: 2.16 and later. Run on CPUs only so far."""
