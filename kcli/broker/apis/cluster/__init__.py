"""The cluster itself: its nodes, features, log directories and quorum, with the snapshots of its metadata."""
