"""Facts about Kafka's messages: `catalog.catalog()` returns their definitions, `errors` names error codes."""
