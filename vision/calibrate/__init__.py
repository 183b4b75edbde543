"""Where the stickers lie and what their colours are, learnt from pictures."""
