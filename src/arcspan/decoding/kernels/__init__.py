"""The compiled inner loops. Importing one of these modules imports numba; calling a kernel compiles it, once:
machine code is kept on disk (numba's cache) where a cache can be written.
"""
