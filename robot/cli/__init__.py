"""``cubist``: the command line."""
