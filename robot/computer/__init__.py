"""The computer the robot hangs on: its check-up, its set-up, its ports and the firmware tools."""
