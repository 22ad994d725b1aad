"""What people do wrong when they write Kafka's bytes: candidates, what makes one likely, and hints that name it."""
