"""The loops that numba compiles. Import it late: numba takes half a second.

Compiled at the first call of each, with the types of that call; the machine code is kept for
the next process.
"""
