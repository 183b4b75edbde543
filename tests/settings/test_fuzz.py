"""Any text of a profile gives a profile or complaints, never anything else."""

import copy
import json
import subprocess
import sys

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.mechanism.registry import build_mechanism
from robot.settings import BadProfile, list_profiles, parse_profile, profile_path

NAMES = [*list_profiles(), *list_profiles(reference=True)]
TEXTS = {name: profile_path(name).read_text() for name in NAMES}
DATA = {name: yaml.safe_load(text) for name, text in TEXTS.items()}

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10_000, 10_000),
    st.integers(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.dates(),
    st.binary(max_size=4),
    st.sampled_from(["", "open", "x", "U", "lid", "servo", "700 ms", "holder", "é"]),
    st.lists(st.integers(-2, 3), max_size=3),
    st.dictionaries(st.sampled_from(["kind", "ms", "U", "open"]), st.integers(0, 5), max_size=2),
)

HOSTILE = [
    *("!!bool abc", "!!float abc", '!!int ""', "!!int +", "!!timestamp foo", "2001-99-99"),
    *("9" * 10_000, "-" + "9" * 5_000, "0x" + "f" * 5_000, "1" + ":1" * 3_000, "1e999", ".inf"),
    *(".nan", "0b", "!!binary x", "!!set {a}", "!!omap [a]", "!!python/object:os.system x"),
    *("!!null abc", "!!map 5", "!!seq 5", "!!str [a]", "&a [*a]", "&a {<<: *a}", "*nobody"),
    *("{<<: 5}", "{<<: [1, {a: 2}]}", "<<", "=", "{? [a] : b}", "{{a: b}: c}", "[" * 300),
    *("{" * 300, '"\\UFFFFFFFF"', '"\x07"', "'", "|", "%", "@", "- -", "? ?", "\t", "\ufeff", "on"),
    *("{on: 1}", "{1: 2}", "{~: 1}", "{a: 1, a: 2}", "!<tag:yaml.org,2002:int> x", "x" * 30_000),
    *("\n---\na: b", "\n...\n", "\n%YAML " + "9" * 5_000 + "\n---\n", "é" * 1_000, "\u2028"),
]


def places(data, path=()):
    """Yield the path of every value in a document."""
    if path:
        yield path
    inside = dict(enumerate(data)) if isinstance(data, list) else data
    for key, value in inside.items() if isinstance(inside, dict) else ():
        yield from places(value, (*path, key))


def altered(data, path, change, value):
    """Return a copy with the value at ``path`` replaced, removed or doubled under another key."""
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


@st.composite
def hostile_texts(draw):
    """Draw a shipped profile with text that YAML or Python interpret in a special way."""
    lines = TEXTS[draw(st.sampled_from(NAMES))].split("\n")
    value = draw(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)))
    for number in draw(st.lists(st.integers(0, len(lines) - 1), min_size=1, max_size=2)):
        key, colon, _ = lines[number].partition(":")
        way = draw(st.sampled_from(["value", "key", "line", "within"]))
        if way == "value":
            lines[number] = f"{key}{colon} {value}"
        elif way == "key":
            lines[number] = lines[number].replace(key.strip(), value, 1)
        elif way == "line":
            lines.insert(number, value)
        else:
            at = draw(st.integers(0, len(lines[number])))
            lines[number] = lines[number][:at] + value + lines[number][at:]
    return "\n".join(lines)


def assert_refused_or_works(text):
    """Assert that a profile can be built, or that complaints name the place to change."""
    try:
        build_mechanism(parse_profile(text, "fuzz.yaml"))
    except BadProfile as error:
        assert error.complaints
        for complaint in error.complaints:
            assert complaint.text
            assert complaint.file == "fuzz.yaml"
            assert 1 <= complaint.line <= len(text.splitlines()) + 1, complaint
            assert complaint.key or complaint.text.startswith(("not YAML", "a profile is")), text
            assert len(str(complaint)) < 2_000


@settings(max_examples=40)
@given(data=st.data(), name=st.sampled_from(NAMES))
def test_an_altered_profile_is_refused_or_works(data, name):
    path = data.draw(st.sampled_from(list(places(DATA[name]))))
    change = data.draw(st.sampled_from(["replace", "remove", "rename"]))
    document = altered(DATA[name], path, change, data.draw(VALUES))
    assert_refused_or_works(yaml.safe_dump(document, allow_unicode=True))


@settings(max_examples=60)
@given(hostile_texts())
def test_a_profile_with_anything_in_it_is_refused_or_works(text):
    assert_refused_or_works(text)


def many(line, count):
    return "".join(line.format(n, n + 1) for n in range(count))


BOMBS = {
    "merge keys": "a0: &a0 {b: 1}\n" + many("a{1}: &a{1} {{<<: [" + "*a{0}, " * 9 + "]}}\n", 12),
    "keys to merge": f"a0: &a0 {{{many('k{}: 1, ', 500)}}}\nb: {{<<: [{'*a0, ' * 2_000}]}}\n",
    "aliases": "a0: &a0 [x]\n" + many("a{1}: &a{1} [" + "*a{0}, " * 9 + "]\n", 8),
    "keys": many("k{}: 1\n", 5_900),
    "deep": "a: " + "[" * 60_000,
    "deep merges": "a0: &a0 {b: 1}\n" + many("a{1}: &a{1} {{<<: *a{0}}}\n", 1_500),
    "one key": "k" * 60_000 + ": 1",
    "one number": "format: " + "9" * 60_000,
    "one tag": "format: !" + "t" * 60_000 + " 1",
    "complex keys": "? {a: b}\n: c\n" * 3_000,
}


PARSING = """
import json, sys
from pathlib import Path
from robot.settings import BadProfile, parse_profile

def peak_kb():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

for name, text in json.load(sys.stdin).items():
    before = peak_kb()
    try:
        parse_profile(text, "fuzz.yaml")
    except BadProfile:
        print(json.dumps([name, peak_kb() - before]))
"""


def test_small_texts_cannot_take_much_memory():
    command, texts = [sys.executable, "-c", PARSING], json.dumps(BOMBS)
    done = subprocess.run(command, input=texts, capture_output=True, text=True, check=True)
    found = dict(map(json.loads, done.stdout.splitlines()))
    assert found.keys() == BOMBS.keys()
    assert max(found.values()) < 80_000, found
