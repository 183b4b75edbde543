"""The simulated robot for users: `cubist demo`, `cubist simulate` and injected faults."""
