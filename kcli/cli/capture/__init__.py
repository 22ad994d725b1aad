"""`kcli capture`: packets off an interface, shown and saved."""
