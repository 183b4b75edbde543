"""From measured colours to one legal cube, or to an honest doubt."""
