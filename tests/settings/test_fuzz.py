"""Whatever stands in a profile, the answer is a profile or complaints, never something else."""

import copy

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.mechanism.build import build_mechanism
from robot.mechanism.gripping import ImpossibleRobot
from robot.settings import BadProfile, list_profiles, parse_profile, profile_path

NAMES = [*list_profiles(), *list_profiles(reference=True)]
DATA = {name: yaml.safe_load(profile_path(name).read_text()) for name in NAMES}

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10_000, 10_000),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["", "open", "x", "U", "lid", "servo", "700 ms", "holder", "é"]),
    st.lists(st.integers(-2, 3), max_size=3),
    st.dictionaries(st.sampled_from(["kind", "ms", "U", "open"]), st.integers(0, 5), max_size=2),
)


def places(data, path=()):
    """The path of every value in a document."""
    if path:
        yield path
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


def altered(data, path, change, value):
    """A copy with the value at ``path`` replaced, removed or doubled under another key."""
    data = copy.deepcopy(data)
    inside = data
    for step in path[:-1]:
        inside = inside[step]
    if change == "remove":
        del inside[path[-1]]
    elif change == "rename" and isinstance(inside, dict):
        inside[f"{path[-1]}x"] = inside.pop(path[-1])
    else:
        inside[path[-1]] = value
    return data


@settings(max_examples=150)
@given(data=st.data(), name=st.sampled_from(NAMES))
def test_an_altered_profile_is_refused_or_works(data, name):
    path = data.draw(st.sampled_from(list(places(DATA[name]))))
    change = data.draw(st.sampled_from(["replace", "remove", "rename"]))
    text = yaml.safe_dump(altered(DATA[name], path, change, data.draw(VALUES)), allow_unicode=True)
    try:
        profile = parse_profile(text, "fuzz.yaml")
    except BadProfile as error:
        assert error.complaints
        assert all(
            complaint.text and complaint.file == "fuzz.yaml" for complaint in error.complaints
        )
        assert all(complaint.line <= text.count("\n") + 1 for complaint in error.complaints)
        return
    try:
        build_mechanism(profile)
    except ImpossibleRobot as error:
        assert profile.name in str(error)
