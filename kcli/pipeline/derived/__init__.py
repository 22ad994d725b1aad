"""Tables about several connections, made from the facts about each connection, by Spark and by DuckDB."""
