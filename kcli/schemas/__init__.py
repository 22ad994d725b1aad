"""Facts about Kafka's messages, as data: `catalog.catalog()` finds them, `errors` names error codes."""
