"""Cubes, notations and searches; the kernel in ``solver/native`` does the searching."""
