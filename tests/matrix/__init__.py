"""Every command with every value of every option on every kind of input, sound and damaged: no traceback, anywhere."""
