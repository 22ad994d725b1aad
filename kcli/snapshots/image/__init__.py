"""The metadata image: objects, tables, tree, questions, changes."""
