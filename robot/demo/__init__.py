"""The whole robot in simulation: simulated body, real firmware, real daemon, one press."""
