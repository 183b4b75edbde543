"""Trial motions for calibration, each an operation of the control socket."""
