"""Calibration: the values measured on one robot, the steps that measure them, and their files."""
