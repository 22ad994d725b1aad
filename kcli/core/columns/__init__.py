"""Makes Arrow columns of exchanges, connections and partitions."""
