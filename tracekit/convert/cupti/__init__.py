"""The native CUPTI collector: what its captures hold."""
