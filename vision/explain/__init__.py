"""Pictures and sentences that show why a cube was read as it was."""
