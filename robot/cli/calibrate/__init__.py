"""`cubist calibrate` by command."""
