"""How properties are tested: the same examples in every `make test`, new ones in `make test-long`.

No example has a deadline: the machine's speed is no property of the program.
"""

from hypothesis import HealthCheck, settings

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}

settings.register_profile("repeatable", derandomize=True, **COMMON)
settings.register_profile("explore", **COMMON)
settings.load_profile("repeatable")
