"""Figures of live traffic, for the export with `--metrics` and for `kcli top`."""
