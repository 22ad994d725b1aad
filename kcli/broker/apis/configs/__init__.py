"""Configs of topics, brokers, groups and client metrics."""
