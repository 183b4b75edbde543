"""The robot: settings, mechanism, planner, link to the firmware, daemon, command line and twin."""
