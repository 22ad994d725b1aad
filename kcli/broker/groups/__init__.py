"""Consumer groups of the classic protocol and of KIP-848's: members, rebalances, committed offsets."""
