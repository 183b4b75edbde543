"""``cubist-web``: the page on the robot, a process of its own that only talks to the daemon."""
