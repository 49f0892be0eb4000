"""Starts a program under a profiler and makes sure that a capture comes of it."""
