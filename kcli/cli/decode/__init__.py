"""`kcli decode`: messages, batches, segments and data; captures in `pcap/`."""
