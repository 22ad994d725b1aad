"""The grammars of Kafka's bytes: construct grammars made from tables, and their translation to the compiled core."""
