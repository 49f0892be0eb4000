"""STORE: run directories, written beside and renamed, opened as typed tables."""
