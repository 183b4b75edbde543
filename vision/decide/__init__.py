"""Deciding: measured colours to one legal cube, or to a refusal."""
