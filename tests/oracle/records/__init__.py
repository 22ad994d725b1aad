"""The kernels over record batches in Python: the same names and forms as the core's, on the interpreted grammar."""
