"""What the tables hold: one definition for Parquet files, `kcli sql` and the pipeline."""
