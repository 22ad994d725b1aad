"""Consumer groups in the classic protocol: members, rebalances, committed offsets."""
