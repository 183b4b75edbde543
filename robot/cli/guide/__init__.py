"""The interactive calibration: screens in a terminal, over SSH as well."""
