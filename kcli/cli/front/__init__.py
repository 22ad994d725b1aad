"""`kcli FILE...`: the front door. It recognizes a file, says what is in it, what is wrong, and what to ask next."""
