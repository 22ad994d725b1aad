"""The verb select: a few fields of a message as columns."""
