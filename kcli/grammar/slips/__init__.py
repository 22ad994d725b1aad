"""Common mistakes ("slips") in writing Kafka's bytes: candidates, their likelihood, and hints that name them."""
