"""Commands that talk to a cluster: send, produce, proxy."""
