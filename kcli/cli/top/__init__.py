"""`kcli top`: who asks what now, and what is wrong."""
