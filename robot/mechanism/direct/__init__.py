"""Six motors, one on each face."""
