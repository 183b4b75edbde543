"""Cubes of 4 and more layers, reduced to a 3x3x3 that two-phase solves."""
