"""XPlane: what TensorFlow and JAX profile, in files that need neither to be read."""
