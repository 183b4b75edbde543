"""The robot: settings, mechanism, planner, link to the firmware, daemon, command line and twin."""

DISTRIBUTION = "cubist-robot"
"""Name of the Python distribution, which knows the version."""
