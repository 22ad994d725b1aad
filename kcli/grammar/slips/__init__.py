"""Common slips in writing Kafka's bytes: candidates, what makes one likely, and hints that name it."""
