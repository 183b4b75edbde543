"""Cubes as arrays for machine learning."""
