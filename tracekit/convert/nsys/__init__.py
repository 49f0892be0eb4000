"""Nsight Systems exports: what all their formats (SQLite, Parquet, Arrow) share."""
