"""Tables that look across connections, made of the facts about each: by Spark and by DuckDB."""
