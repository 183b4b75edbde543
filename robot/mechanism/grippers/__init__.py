"""Arms with grippers."""
