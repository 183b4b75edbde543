"""``cubist-display``: a small display on the robot, a client of the control socket."""
