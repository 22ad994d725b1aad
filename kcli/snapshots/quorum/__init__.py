"""A quorum by its nodes: their identities and logs, who can be elected, what is wrong and what to do."""
