"""The robot's front panel: start button, emergency stop, status light and buzzer."""
