"""The meaning of bytes: construct grammars made from tables, and their translation to the compiled core."""
