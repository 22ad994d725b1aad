"""Random damage to real bytes: nothing may crash, hang, allocate without bound, or lose a byte that was read."""
