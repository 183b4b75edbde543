"""What a robot can find out about itself by moving and looking: ``cubist calibrate auto``."""
