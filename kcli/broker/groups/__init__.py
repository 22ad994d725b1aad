"""Consumer groups of the classic and the new protocol: members, rebalances, committed offsets."""
