"""`kcli broker`: serve, move-leader and ctl."""
