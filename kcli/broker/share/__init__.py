"""Share groups (KIP-932), whose members share partitions and acknowledge single records."""
