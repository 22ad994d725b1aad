"""The definition of each table, shared by Parquet files, `kcli sql` and the pipeline."""
