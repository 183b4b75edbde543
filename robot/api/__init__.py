"""The control socket: its documents, its paths and its clients."""
