"""The two formats of an output folder: Delta tables, and plain Parquet files with a journal."""
