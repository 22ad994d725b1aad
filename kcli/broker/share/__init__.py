"""Share groups (KIP-932): members that share partitions, and acknowledge record by record."""
