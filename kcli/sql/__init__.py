"""SQL over captures, log segments, snapshots and written tables, in this process (DuckDB)."""
