"""Cubes: stickers, pieces, notation, legality."""
