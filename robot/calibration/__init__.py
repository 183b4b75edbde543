"""Calibration: what a robot's own measurements are, how they are made, where they are kept."""
