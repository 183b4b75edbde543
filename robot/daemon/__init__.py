"""``cubistd``: one job at a time, from the start button to a solved cube."""
