"""The simulated robot: a second opinion that watches the pins of the firmware."""
