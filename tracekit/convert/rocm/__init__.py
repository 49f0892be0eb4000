"""What rocprofv3 writes for AMD GPUs: its JSON, and rocpd databases."""
