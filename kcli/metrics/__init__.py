"""Figures of traffic that goes on: what `--metrics` exports, and what `kcli top` shows."""
