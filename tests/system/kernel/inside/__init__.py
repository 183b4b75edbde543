"""Scenarios that run inside the virtual machine; each prints what it found as one line of JSON."""
