"""`kcli broker`: serve and move-leader."""
