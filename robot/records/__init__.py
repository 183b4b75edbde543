"""Records: runs, timelines and the files they are kept in."""
