"""The simulated robot as a person meets it: `cubist demo` and faults on purpose."""
