"""The reference mechanisms, transition by transition, against their description in plain words."""

from itertools import product

from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile


def table_of(mechanism, parity_of):
    """``{(before, after, turns, rotation): microseconds}`` of a compiled mechanism."""
    table = {}
    for step in mechanism.transitions:
        before, after = (parity_of(mechanism.configurations[c]) for c in (step.start, step.end))
        table[before, after, frozenset(step.turns), step.rotation] = step.duration_us // 1000
    return table


def least(table, key, cost):
    table[key] = min(cost, table.get(key, cost))


def rotation(axis, quarters):
    return (axis, quarters % 4)


def test_reference_c_is_as_described():
    sites = "RLFB"
    names = {"R": "right", "L": "left", "F": "front", "B": "back"}
    mechanism = build_mechanism(load_profile("reference/c"))
    compiled = table_of(mechanism, lambda c: tuple(c.positions[names[s]] % 2 for s in sites))

    def rests(odd):
        return not (any(odd[:2]) and any(odd[2:]))

    said = {}
    for odd in filter(rests, product((0, 1), repeat=4)):
        for pair, other in (((0, 1), (2, 3)), ((2, 3), (0, 1))):
            add_turns(said, sites, odd, pair, other, rests)
            add_tilts(said, sites, odd, pair, other, rests)
        for regrip in product((0, 1), repeat=4):
            after = tuple(a ^ b for a, b in zip(odd, regrip, strict=True))
            if any(regrip) and not all(regrip) and rests(after):
                least(said, (odd, after, frozenset(), None), 300)
    assert compiled == said


def add_turns(said, sites, odd, pair, other, rests):
    """One or both of an axis turn; grippers of the other are even or are being regripped."""
    for quarters, regrip in product(product(range(4), repeat=2), product((0, 1), repeat=2)):
        moved = [n for n, q in zip(pair, quarters, strict=True) if q]
        still = 4 - len(moved) - sum(regrip)
        blocked = any(odd[n] and not r for n, r in zip(other, regrip, strict=True))
        if not moved or not still or blocked:
            continue
        after = list(odd)
        for n, q in zip(pair, quarters, strict=True):
            after[n] ^= q % 2
        for n, r in zip(other, regrip, strict=True):
            after[n] ^= r
        if rests(after):
            cost = max(300 if q == 2 else 200 for q in quarters if q)
            turns = frozenset((sites[n], q) for n, q in zip(pair, quarters, strict=True) if q)
            least(said, (odd, tuple(after), turns, None), max(cost, 300 * any(regrip)))


def add_tilts(said, sites, odd, pair, other, rests):
    """A pair rotates the whole cube with the other open, which may re-rotate meanwhile."""
    axis = {"R": "x", "F": "z"}[sites[pair[0]]]
    for q, again in product((1, 2, 3), product((0, 1), repeat=2)):
        after = list(odd)
        for n in pair:
            after[n] ^= q % 2
        for n, r in zip(other, again, strict=True):
            after[n] ^= r
        if rests(after):
            cost = 200 + (300 if q == 2 else 200)
            least(said, (odd, tuple(after), frozenset(), rotation(axis, q)), cost)
