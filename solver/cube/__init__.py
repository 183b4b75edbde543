"""Cubes: stickers, pieces, notation, what is legal."""
