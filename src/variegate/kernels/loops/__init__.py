"""The loops that numba compiles. Import them late: numba takes half a second.

Each is compiled at its first call, for the types of that call; the machine code is cached on disk.
"""
