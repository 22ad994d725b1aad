"""A quorum by its nodes: their identities and logs, the electable ones, findings and cures."""
