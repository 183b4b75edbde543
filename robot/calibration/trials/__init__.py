"""Motion that is tried for calibration, each an operation of the control socket."""
