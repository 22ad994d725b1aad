"""`kcli decode pcap`: the command, its rows, table, tree, layout and closing lines."""
