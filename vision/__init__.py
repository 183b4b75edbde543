"""Cameras, stickers, colours: from pictures to the most likely legal cube."""
