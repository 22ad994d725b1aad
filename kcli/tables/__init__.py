"""The definition of each table: one for Parquet files, `kcli sql` and the pipeline."""
