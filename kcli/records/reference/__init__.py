"""The kernels over record batches without the compiled core: the same names and forms, on the interpreted grammar.

They are the reference that the compiled ones are tested against, and what kcli runs on, slower, where there was no
compiler.
"""
