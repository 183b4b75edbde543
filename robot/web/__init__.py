"""``cubist-web``: the page on the robot, served by a process that only talks to the daemon."""
