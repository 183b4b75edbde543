"""The compiler: a mechanism's states and operations become the costs a search uses."""
