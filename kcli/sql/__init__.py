"""SQL over captures, log segments, snapshots and written tables, run by DuckDB in this process."""
