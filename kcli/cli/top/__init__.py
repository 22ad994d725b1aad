"""`kcli top`: requests of live traffic by client, broker, topic and group, and findings."""
