"""What several files that PyTorch writes have in common."""
