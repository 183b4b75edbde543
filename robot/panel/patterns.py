"""What the light and the buzzer say: on and off times for every state of the robot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """Milliseconds on, off, on, ... ; repeated for ever unless ``once``."""

    steps_ms: tuple[int, ...]
    once: bool = False

    @property
    def length_ms(self) -> int:
        """One round."""
        return sum(self.steps_ms)

    def level(self, elapsed_ms: float) -> bool:
        """Whether it is on, this long after its start."""
        if self.once and elapsed_ms >= self.length_ms:
            return False
        rest = elapsed_ms % self.length_ms
        for index, step in enumerate(self.steps_ms):
            if rest < step:
                return index % 2 == 0
            rest -= step
        return False


STEADY = Pattern((1000,))
OFF = Pattern((0, 1000))

LIGHTS: dict[str, Pattern] = {
    "idle": STEADY,
    "homing": Pattern((100, 900)),
    "scanning": Pattern((500, 500)),
    "solving": Pattern((100, 100)),
    "turning": Pattern((900, 100)),
    "checking": Pattern((500, 500)),
    "fault": Pattern((150, 150, 150, 150, 150, 750)),
    "maintenance": Pattern((50, 1950)),
    "ready": Pattern((50, 50)),
    "inspection": Pattern((500, 100, 300, 100)),
    "shutdown": Pattern((30, 30)),
}
"""By the daemon's state: steady when ready, three flashes and a pause when help is needed.

And three of the panel's own: hands lie ready on the pads, the cube is being inspected, and a press
that switches off as soon as the button is let go.
"""

SOUNDS: dict[str, Pattern] = {
    "press": Pattern((40, 10), once=True),
    "solved": Pattern((80, 80, 80, 80, 300, 10), once=True),
    "fault": Pattern((600, 200, 600, 10), once=True),
    "shutdown": Pattern((1000, 10), once=True),
    "ready": Pattern((40, 40, 40, 10), once=True),
    "inspection": Pattern((200, 10), once=True),
    "warning": Pattern((100, 10), once=True),
    "last warning": Pattern((100, 100, 100, 10), once=True),
}
