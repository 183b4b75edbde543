"""From a mechanism's states and operations to the costs a search uses."""
