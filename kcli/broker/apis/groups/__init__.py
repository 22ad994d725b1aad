"""Consumer groups, of the classic protocol and of KIP-848's, and their offsets."""
