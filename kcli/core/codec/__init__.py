"""Messages: the step tables of their grammars and the verbs that run on them; names, hashes, JSON text."""
