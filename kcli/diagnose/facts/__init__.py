"""The facts that rules read: one pass over captures, rows of tables in DuckDB."""
