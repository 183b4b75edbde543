"""A lid that flips the cube over a turntable."""
