"""Everything a person reads: faults, outcomes, messages, and their translations."""
