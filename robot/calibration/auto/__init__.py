"""``cubist calibrate auto``: values that a robot finds by moving and looking."""
