"""A hold that fails for a moment: what turns does not take the cube along."""

from __future__ import annotations


class Slipping:
    """Each slip asked for costs the next part that turns the first quarter of its way."""

    def __init__(self) -> None:
        self.wanted = 0
        self._left: dict[str, float] = {}

    def carried(self, part: str, quarters: float) -> float:
        """How much of a turn by ``part`` reaches the cube."""
        if self.wanted > 0 and quarters and part not in self._left:
            self.wanted -= 1
            self._left[part] = 1.0
        left = self._left.get(part, 0.0)
        lost = min(left, abs(quarters))
        if not lost:
            return quarters
        self._left[part] = left - lost
        if left == lost:
            del self._left[part]
        return quarters - (lost if quarters > 0 else -lost)
