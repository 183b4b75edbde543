"""Records: runs, timelines and their files."""
