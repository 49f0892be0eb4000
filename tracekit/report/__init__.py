"""REPORT: result tables to terminal, CSV, JSON, Markdown, Parquet."""
