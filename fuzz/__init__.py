"""Fuzzing of the readers; see run.py."""
