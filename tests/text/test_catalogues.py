"""Every text is translated in every language, with its placeholders, and no other text is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from robot.api.endpoints import Place, RobotState
from robot.calibration.step import STEPS as CALIBRATION
from robot.calibration.step import Measurement
from robot.calibration.steps.positions import CONFIRMED, NOT_CONFIRMED
from robot.calibration.versions import Maker
from robot.cli.texts import TerminalText, translate_finding
from robot.computer.computer import CheckResult
from robot.display.menu import ENTRIES
from robot.display.view import DisplayText
from robot.guide.texts import GuideText
from robot.link.group import complaints
from robot.records.run_record import FaultRecord, JobKind, LinkRecord, notes_of
from robot.settings import list_profiles, load_profile
from robot.text import languages, operations
from robot.text.faults import FAULTS, RobotError, ScanError, describe
from robot.text.languages import (
    ENGLISH,
    FAULT_TRANSLATIONS,
    LANGUAGES,
    STATES,
    catalogue,
    chosen_catalogue,
    outcome_label,
)
from robot.text.messages import NOTES, STAGES, STEPS, JobStep, Note, PageReason, coded
from robot.text.outcomes import OUTCOMES
from robot.text.purposes import PURPOSES, CubeText, TouchText
from vision.cameras.base import Unsettled
from vision.reasons import REASONS, Reason

OTHERS = sorted(set(LANGUAGES) - {ENGLISH})
STATIC = files("robot.web").joinpath("static")
ROBOT = Path(__file__).parents[2] / "robot"
VISION = ROBOT.with_name("vision")
STRING = r'"((?:[^"\\]|\\.)*)"'


class Texts(HTMLParser):
    """The text and labels of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "input"}:
            self._within.append(tag)
        if label := dict(attrs).get("aria-label"):
            self.found.add(label)

    def handle_endtag(self, tag: str) -> None:
        assert self._within.pop() == tag

    def handle_data(self, data: str) -> None:
        # Commands, a page's name and the text for browsers without scripts are never translated.
        untold = {"code", "h1", "title", "noscript"} & set(self._within)
        if data.strip() and not untold:
            self.found.add(data.strip())


def kinds_of(kind: type[Measurement]) -> Iterator[type[Measurement]]:
    for one in kind.__subclasses__():
        yield one
        yield from kinds_of(one)


def texts_of_the_guide() -> set[str]:
    """Return the texts of calibration's steps before any measurement, and of its pages."""
    steps = list(CALIBRATION.values())
    measured = [one for one in kinds_of(Measurement) if one.__module__.startswith("robot.")]
    found = {NOT_CONFIRMED, *map(str, GuideText), *CONFIRMED.values()}
    for said in (*steps, *measured):
        found |= {said.guidance, *(said.columns if isinstance(said.columns, tuple) else ())}
    found |= {step.title for step in steps}
    found |= {*map(str, CubeText), *map(str, TouchText)}
    found |= {text for one in PURPOSES.values() for text in (one.right, one.watch)}
    found |= {label for one in measured for label in dict(one.choices).values()}
    return found - {""}


def texts_of_operations() -> set[str]:
    tables = (*operations.TURNS.values(), *operations.ROTATIONS.values())
    sentences = {text for table in tables for text in table.values()}
    parts = {text for both in operations.LAYERS.values() for text in both}
    others = (operations.GRIPPERS, operations.HANDLING, operations.OTHERS)
    return sentences | parts | {text for table in others for text in table.values()}


def texts_of_the_page() -> set[str]:
    parser = Texts()
    parser.feed(STATIC.joinpath("index.html").read_text(encoding="utf-8"))
    found = parser.found | {str(reason) for reason in PageReason}
    for file in STATIC.iterdir():
        if not file.name.endswith(".js"):
            continue
        source = file.read_text(encoding="utf-8")
        found |= set(re.findall(rf"\b(?:t|msg)\({STRING}", source))
        for pair in re.findall(rf"\bt\([^,;]*?\? {STRING}\s*: {STRING}", source):
            found |= set(pair)
    return found


def wanted() -> dict[str, set[str]]:
    """Return every English text by its section."""
    return {
        "states": set(STATES.values()),
        "outcomes": {outcome_label(outcome) for outcome in OUTCOMES},
        "endings": {row.about for row in OUTCOMES.values()},
        "steps": set(STEPS.values()),
        "faults": {t for row in FAULTS.values() for t in (row.about, row.cause, row.remedy)},
        "notes": set(NOTES.values()),
        "stages": set(STAGES.values()),
        "parts": {
            name.replace("-", " ")
            for robot in list_profiles()
            for name in load_profile(robot).actuators
        },
        "operations": texts_of_operations(),
        "page": texts_of_the_page(),
        "calibration": texts_of_the_guide(),
        "terminal": {str(text) for text in TerminalText},
        "display": {str(text) for text in (*DisplayText, *ENTRIES)},
    }


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w*\}", text))


def translations(language: str) -> dict[str, dict[str, str]]:
    """Return all texts of a language by section and English text."""
    told = tomllib.loads(FAULT_TRANSLATIONS.read_text(encoding="utf-8"))
    faults = {english: texts[language] for english, texts in told.items() if language in texts}
    return {**catalogue(language).texts, "faults": faults}


def place_of(section: str, language: str, english: str) -> str:
    """Return where a translation belongs, as a message names it."""
    if section == "faults":
        return f'robot/text/fault_translations.toml: {language} of ["{english}"]'
    return f'robot/text/languages/{language}.toml: "{english}" in [{section}]'


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_has_every_text_and_no_other(language):
    told = {(section, text) for section, of_it in translations(language).items() for text in of_it}
    english = {(section, text) for section, of_it in wanted().items() for text in of_it}
    faults = [f"missing in {place_of(one[0], language, one[1])}" for one in english - told]
    faults += [f"no such text: {place_of(one[0], language, one[1])}" for one in told - english]
    assert not faults, "\n".join(sorted(faults))


def test_no_language_of_a_fault_is_unknown():
    told = tomllib.loads(FAULT_TRANSLATIONS.read_text(encoding="utf-8"))
    assert {english: texts for english, texts in told.items() if set(texts) - set(OTHERS)} == {}


@pytest.mark.parametrize("language", OTHERS)
def test_translations_keep_placeholders_and_what_is_typed(language):
    for section, texts in translations(language).items():
        for english, translation in texts.items():
            where = place_of(section, language, english)
            assert translation.strip() == translation != "", where
            assert placeholders(translation) == placeholders(english), where
            typed = r"`[^`]*`|cubist firmware flash|\b[a-z]+_[a-z_]+\b|\b[a-z]+\.[a-z]+\b"
            for part in set(re.findall(typed, english)):
                assert part in translation, f"{where}: {part} is typed or a key"


def test_every_state_and_kind_of_job_has_a_name():
    assert set(STATES) == set(RobotState)
    assert {kind.capitalize() for kind in get_args(JobKind)} <= texts_of_the_page()


def test_the_page_offers_the_languages_that_there_are():
    source = STATIC.joinpath("language.js").read_text(encoding="utf-8")
    listed = re.search(r"SPOKEN = \[(.*)\]", source)
    assert listed and re.findall(r'"(\w+)"', listed[1]) == list(LANGUAGES)
    here = {file.name for file in files(languages).iterdir() if file.name.endswith(".toml")}
    assert here == {f"{language}.toml" for language in OTHERS}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_fault_is_told(language):
    said = catalogue(language)
    for code, row in FAULTS.items():
        fault = FaultRecord.of(RobotError(code, detail="lid")).model_dump()
        assert f"({said.part('lid')})" in said.cause(fault)
        assert f"({said.part('lid')})" in said.fault(fault)
        if language == ENGLISH:
            assert (said.cause(fault), said.remedy(fault)) == (describe(row, "lid"), row.remedy)
        else:
            assert row.about not in said.cause(fault) and row.cause not in said.cause(fault)
            assert said.remedy(fault) != row.remedy
            assert said.part("left-jaw") != "left-jaw"


HOME = FAULTS["home-missing"]
SLIPPED = "der Würfel hat sich nicht bewegt, wie er sollte"


@pytest.mark.parametrize(
    ("code", "known", "cause"),
    [
        ("cube-slipped", {"cause": "face F shows R"}, f"{SLIPPED} [face F shows R]"),
        ("emergency-stop", {"cause": FAULTS["emergency-stop"].about}, "Not-Halt"),
        ("home-missing", {"cause": describe(HOME)}, "der Endschalter wurde nie erreicht: "),
        ("home-missing", {"cause": describe(HOME, "lid"), "detail": "lid"}, "erreicht (Deckel)"),
        ("home-missing", {"cause": describe(HOME, "my-arm"), "detail": "my-arm"}, " (my-arm): "),
        ("of-tomorrow", {"cause": "something new"}, "something new"),
    ],
)
def test_particulars_and_names_that_an_owner_gave_stay_as_they_are(code, known, cause):
    """Check that records of older versions have no detail, and newer ones unknown codes."""
    fault = {"code": code, "remedy": "hold it"} | known
    assert cause in catalogue("de").cause(fault)
    assert catalogue("de").remedy(fault) == "hold it"


LOOKING = JobStep.of("look", faces="U, F", seen=2, count=6)
RECOVERING = JobStep.of("recover", "recovering: it is jammed", fault="cube-slipped")
NO_CUBE = FaultRecord.of(RobotError("no-cube")).model_dump()
SHINING = Reason.of("seen-reflection-at", rows="1", columns="2-3")
REFLECTION = ScanError(Reason.name_pictures("F", SHINING), "F", "reflection")
FLIPPED = ScanError(
    Reason.nest("put-wrongly", what="edge-flipped", piece="UR", place="U6, R2"),
    "U",
    remedy=Reason.of("turn-piece"),
)


@pytest.mark.parametrize(
    ("language", "kind", "document", "told"),
    [
        ("en", "step", {"step": LOOKING, **coded(LOOKING)}, "looking at U, F (2 of 6)"),
        ("de", "step", {"step": LOOKING, **coded(LOOKING)}, "sieht U, F an (2 von 6)"),
        ("it", "step", {"step": RECOVERING, **coded(RECOVERING)}, ": il cubo non si è mosso"),
        ("ja", "step", {"step": "something new", "step_code": ""}, "something new"),
        ("es", "reason", {"reason": "stopped by a person", "faults": []}, "por una persona"),
        ("es", "reason", {"reason": NO_CUBE["cause"], "faults": [NO_CUBE]}, "no se ve ningún cubo"),
        ("de", "cause", FaultRecord.of(REFLECTION).model_dump(), "auf Reihe 1, Spalte 2-3 der"),
        ("es", "cause", FaultRecord.of(FLIPPED).model_dump(), "UR está volteada (ahora en U6, R2)"),
        ("es", "remedy", FaultRecord.of(FLIPPED).model_dump(), "sáquela y gírela"),
    ],
)
def test_steps_and_reasons_are_told_with_their_particulars(language, kind, document, told):
    assert told in getattr(catalogue(language), kind)(document)


@pytest.mark.parametrize(
    ("setting", "language"),
    [("de", "de"), ("de_AT.UTF-8", "de"), ("JA", "ja"), ("pt-BR", "en"), ("", "en"), ("C", "en")],
)
def test_the_environment_chooses(setting, language):
    assert chosen_catalogue({"CUBIST_LANGUAGE": setting}).language == language
    assert chosen_catalogue({}).language == ENGLISH


def test_every_refusal_and_recovery_of_the_daemon_has_a_code():
    """Find texts raised or noted without a code: they would always stay English."""
    for room in ("daemon", "machine", "calibration"):
        for file in (ROBOT / room).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            plain = r"raise Conflict\((?!Note\.of)|note_recovery\(job, [f\"]"
            assert re.findall(plain, source) == [], file


def test_every_code_is_used():
    """Check also that every code used is in the table."""
    used: set[str] = set()
    for room in ("api", "calibration", "cli", "computer", "daemon", "link", "machine", "panel"):
        for file in (ROBOT / room).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            used |= set(re.findall(r"\"([a-z0-9]+(?:-[a-z0-9]+)*)\"", source)) & set(NOTES)
            assert set(re.findall(r"Note\.of\(\s*\"([^\"]+)\"", source)) <= set(NOTES), file
    used |= {str(one) for one in Unsettled}  # from cameras, which do not know notes
    used |= {f"calibrated-{place}" for place in get_args(Place)}
    used |= {f"made-{maker}" for maker in get_args(Maker)}
    vision = "".join(file.read_text(encoding="utf-8") for file in VISION.rglob("*.py"))
    used |= {
        code
        for code in REASONS
        if re.sub("-(at|perhaps|left|right|top|bottom)$", "", code) in vision
    }
    assert used | {"paused-once", "underrun-once", "late-once"} == set(NOTES)


def test_a_fault_that_the_check_up_finds_is_told_like_any_other(monkeypatch):
    monkeypatch.setenv("CUBIST_LANGUAGE", "de")
    error = RobotError("emergency-stop")
    text, remedy = translate_finding(CheckResult.describe("link", error))
    told = FaultRecord.of(error).model_dump()
    assert (text, remedy) == (catalogue("de").cause(told), catalogue("de").remedy(told))
    assert text != error.cause


def test_every_finding_of_the_check_up_has_a_code():
    """Check that each subject has a name on the page, and no finding is plain text."""
    page = STATIC.joinpath("owner.js").read_text(encoding="utf-8")
    subjects = set(re.findall(r"(\w+): ", page.partition("SUBJECTS = {")[2].partition("}")[0]))
    about: set[str] = set()
    for room in ("cli", "computer"):
        for file in (ROBOT / room).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            about |= set(re.findall(r"CheckResult\(\s*\"(\w+)\"", source))
            about |= set(re.findall(r"CheckResult\.describe\(\s*\"(\w+)\"", source))
            plain = r"CheckResult\([^()]*, f?\"(?!cubist )[^\"]* [^\"]* "
            assert re.findall(plain, source) == [], file
    assert about == subjects


def test_every_warning_has_a_code():
    once = LinkRecord(sent=100, damaged=9, lost_bytes=9, held=1, underruns=1, late=1)
    often = LinkRecord(sent=100, damaged=9, lost_bytes=9, held=2, underruns=2, late=2)
    for link in (once, often):
        told = list(complaints(link))
        assert len(told) == 5 and all(isinstance(text, Note) for text in told)
        notes = [note.model_dump() for note in notes_of(told)]
        for language in OTHERS:
            for text in told:
                assert catalogue(language).note(text, notes) not in (text, *NOTES.values())
        assert [catalogue("en").note(text, notes) for text in told] == told
    assert catalogue("de").note("something new", []) == "something new"


def test_every_stage_has_a_name():
    timed: set[str] = set()
    for file in files("robot.daemon").iterdir():
        if file.name.endswith(".py"):
            source = file.read_text(encoding="utf-8")
            timed |= set(re.findall(r"run_blocking\(\s*\"(\w+)\"", source))
    assert timed <= set(STAGES)


def test_why_the_daemon_refuses_is_told():
    german = catalogue("de")
    note = Note.of("busy", state="turning", run=12)
    answer = {"reason_code": note.code, "reason_parameters": note.parameters}
    assert german.refusal(note, answer) == (
        "der Roboter ist im Zustand „Drehen“ (Lauf 12): das Ende abwarten, oder `cubist stop`"
    )
    assert catalogue("en").refusal(note, answer) == note
    assert german.refusal("something new", {"reason_code": "of-tomorrow"}) == "something new"
    assert german.refusal("something new", {}) == "something new"
    about = FAULTS["not-confirmed"].about
    assert german.refusal("...", {"fault": "not-confirmed"}) not in ("...", about)
