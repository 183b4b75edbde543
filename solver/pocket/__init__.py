"""Searches for the 2x2x2."""
