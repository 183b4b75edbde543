"""The steps of calibration: each module registers one."""
