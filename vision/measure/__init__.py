"""The colours of the stickers in a located face."""
