"""The computer that controls the robot: its check-up, set-up, ports and the firmware tools."""
