"""Searches for cubes of any size."""
