"""Topics, partitions and leaders."""
