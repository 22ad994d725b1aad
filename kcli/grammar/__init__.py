"""What the bytes mean: construct grammars made from tables, and their translation to the compiled core."""
