"""The simulated robot: an independent check that watches the pins of the firmware."""
