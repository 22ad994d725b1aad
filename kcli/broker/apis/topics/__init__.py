"""Topics, their partitions, and the leaders of those."""
