"""The embedded broker: a small Kafka for tests, replays and experiments, with real logs and faults on demand."""
