"""The record that a workload keeps of its iterations, beside a capture of them."""
