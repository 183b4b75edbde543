"""The machine: motion, cameras and planning of one robot, with or without the daemon."""
