"""The robot's texts in people's languages: states, outcomes, faults, steps, and the page.

English is the source and lives beside its code: faults, outcomes, steps, refusals, recoveries,
warnings and stages in :mod:`robot.text`, states here, terminals' own texts in
:mod:`robot.cli.texts`, the page's texts in its own files, those of the guided calibration in
:mod:`robot.calibration` and :mod:`robot.guide`. Parts are called by the names of the actuators in
the profiles. Each other language is a TOML file in this folder, with one section for each of these.
Its keys are the English texts, so a change of one leads to its translations. The texts of faults
are in ``../fault_translations.toml``, all languages together, so that a new fault needs one file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robot.text.faults import FAULTS, describe
from robot.text.messages import NOTES, STAGES, STEPS
from robot.text.operations import OTHERS, key_of, operation_texts
from robot.text.outcomes import OUTCOMES
from solver.errors import NESTED

if TYPE_CHECKING:
    from solver.errors import Coded
    from solver.files import JsonMapping, JsonObject

ENGLISH: Final = "en"
LANGUAGES: Final[Mapping[str, str]] = {
    ENGLISH: "English",
    "de": "Deutsch",
    "es": "Español",
    "it": "Italiano",
    "ja": "日本語",
}
"""Every language by its code, with its own name for itself."""

STATES: Final[Mapping[str, str]] = {
    "idle": "Ready",
    "homing": "Homing",
    "scanning": "Scanning",
    "solving": "Searching",
    "turning": "Turning",
    "checking": "Checking",
    "fault": "Needs help",
    "maintenance": "Being calibrated",
}
"""The states of the daemon, as people read them."""

SETTING: Final = "CUBIST_LANGUAGE"
"""The variable of the environment with the language of terminals and displays."""


FAULT_TRANSLATIONS: Final = Path(__file__).parents[1] / "fault_translations.toml"
"""The texts of faults in every language but English, by the English text."""

STATE_PARAMETERS: Final = frozenset({"state", "before"})
"""Of notes: they name states."""


def outcome_label(outcome: str) -> str:
    """A short name of an outcome in English: ``not solved``."""
    return outcome.replace("-", " ")


class Catalogue:
    """The texts of one language; what a newer daemon says and nobody has translated is English.

    ``texts``: translations by section and English text.
    """

    def __init__(self, language: str, texts: Mapping[str, Mapping[str, str]]) -> None:
        self.language = language
        self.texts = texts

    def text(self, section: str, english: str) -> str:
        """The translation of an English text."""
        return self.texts.get(section, {}).get(english, english)

    def state(self, state: str) -> str:
        """The name of a state of the daemon."""
        return self.text("states", STATES.get(state, state))

    def outcome(self, outcome: str) -> str:
        """The short name of an outcome."""
        return self.text("outcomes", outcome_label(outcome))

    def reason(self, record: JsonMapping) -> str:
        """Why a run ended as it did: the cause of its last fault, or what its outcome means."""
        reason, faults = str(record["reason"]), record["faults"]
        if faults and faults[-1].get("cause") == reason:
            return self.cause(faults[-1])
        return self.text("endings", reason)

    def cause(self, fault: JsonMapping) -> str:
        """Return the cause in a ``FaultRecord``; particulars that only the robot knows are English.

        ``the end stop was never reached (lid): the end stop is unplugged ...``
        """
        row = FAULTS.get(fault.get("code", ""))
        if row is None or self.language == ENGLISH:
            return str(fault["cause"])
        told = self.note(str(fault["cause"]), fault.get("notes", ()))
        if told != fault["cause"]:
            return told
        usual = row._replace(about=self._fault(row.about), cause=self._fault(row.cause))
        detail = fault.get("detail", "")
        if fault["cause"] == row.about:
            return usual.about
        if fault["cause"] == describe(row, detail):
            return describe(usual, self.part(detail))
        return f"{usual.about} [{fault['cause']}]"

    def fault(self, fault: JsonMapping) -> str:
        """Return the fault without its cause: ``the end stop was never reached (lid)``."""
        row = FAULTS.get(fault.get("code", ""))
        if row is None:
            return str(fault["cause"])
        where = f" ({self.part(fault['detail'])})" if fault.get("detail") else ""
        return f"{self._fault(row.about)}{where}"

    def remedy(self, fault: JsonMapping) -> str:
        """Return the remedy in a ``FaultRecord``; a particular remedy is English."""
        row = FAULTS.get(fault.get("code", ""))
        remedy = self.note(str(fault["remedy"]), fault.get("notes", ()))
        return self._fault(remedy) if row is not None and remedy == row.remedy else remedy

    def step(self, work: JsonMapping) -> str:
        """Return the step in a document with ``step``, ``step_code`` and ``step_parameters``."""
        template = STEPS.get(work.get("step_code", ""))
        if template is None or self.language == ENGLISH:
            return str(work["step"])
        values = dict(work["step_parameters"])
        if (row := FAULTS.get(str(values.get("fault")))) is not None:
            values["fault"] = self._fault(row.about)
        return self.text("steps", template).format_map(values)

    def note(self, told: str, notes: Sequence[JsonMapping]) -> str:
        """A recovery or warning, of a document with its ``notes``."""
        found = next((note for note in notes if note["text"] == told), None)
        return (
            told
            if found is None
            else self._translate_note(told, found["code"], found["parameters"])
        )

    def refusal(self, reason: str, answer: JsonMapping) -> str:
        """Why the daemon refused, of an ``ErrorReply``; bad requests stay English."""
        if (row := FAULTS.get(answer.get("fault") or "")) is not None:
            return reason if self.language == ENGLISH else self._fault(row.about)
        code, parameters = answer.get("reason_code"), answer.get("reason_parameters")
        return self._translate_note(reason, code or "", parameters or {})

    def translate(self, text: Coded) -> str:
        """Return the translation of a text that has its code."""
        return self._translate_note(text, text.code, text.parameters)

    def _translate_note(self, english: str, code: str, parameters: JsonMapping) -> str:
        template = NOTES.get(code)
        if template is None or self.language == ENGLISH:
            return english
        values = dict(parameters)
        if (row := FAULTS.get(str(values.get("fault")))) is not None:
            values["fault"] = self._fault(row.about)
        if "actuator" in values:
            values["actuator"] = self.part(values["actuator"])
        for name in STATE_PARAMETERS & values.keys():
            values[name] = self.state(values[name])
        for name in NESTED & values.keys():
            values[name] = self.text("notes", NOTES[values[name]]).format_map(parameters)
        return self.text("notes", template).format_map(values)

    def stage(self, stage: str) -> str:
        """Return what a run's seconds were spent on."""
        return self.text("stages", STAGES.get(stage, stage))

    def operation(self, operation: JsonMapping) -> str:
        """Return an operation of a plan, as in JSON, in words; one without words by its name."""
        texts = self.operations
        op = str(operation["op"])
        words = texts.get(key_of(operation)) or texts.get(op) or OTHERS.get(op, op)
        return words.format_map({**operation, "part": self.part(str(operation.get("arm", "")))})

    @cached_property
    def operations(self) -> dict[str, str]:
        """The words of all operations, by :func:`robot.text.operations.key_of`."""
        return operation_texts(partial(self.text, "operations"))

    def part(self, name: str) -> str:
        """Return the name of an actuator; one that only its owner has named stays as it is."""
        return self.texts.get("parts", {}).get(name.replace("-", " "), name)

    def document(self) -> JsonObject:
        """All of it by code, as the page loads it; ``page`` is by its English text.

        ``faults`` and ``english`` have what happened, why, and the remedy of each fault.
        """
        return {
            "language": self.language,
            "languages": dict(LANGUAGES),
            "states": {code: self.state(code) for code in STATES},
            "outcomes": {str(code): self.outcome(code) for code in OUTCOMES},
            "endings": {row.about: self.text("endings", row.about) for row in OUTCOMES.values()},
            "faults": {
                code: [self._fault(text) for text in (row.about, row.cause, row.remedy)]
                for code, row in FAULTS.items()
            },
            "english": {
                code: [row.about, row.cause, row.remedy]
                for code, row in FAULTS.items()
                if self.language != ENGLISH
            },
            "steps": {code: self.text("steps", text) for code, text in STEPS.items()},
            "notes": {code: self.text("notes", text) for code, text in NOTES.items()},
            "stages": {code: self.stage(code) for code in STAGES},
            "parts": {
                english.replace(" ", "-"): text
                for english, text in self.texts.get("parts", {}).items()
            },
            "operations": self.operations,
            "page": dict(self.texts.get("page", {})),
            "calibration": dict(self.texts.get("calibration", {})),
        }

    def _fault(self, english: str) -> str:
        """Return the translation of a fault's text. The file is read when the first is needed."""
        if self.language == ENGLISH:
            return english
        return _fault_translations().get(english, {}).get(self.language, english)


@cache
def _fault_translations() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(FAULT_TRANSLATIONS.read_text(encoding="utf-8"))


@cache
def catalogue(language: str) -> Catalogue:
    """The texts of one of :data:`LANGUAGES`; raises KeyError for any other."""
    if language == ENGLISH:
        return Catalogue(ENGLISH, {})
    if language not in LANGUAGES:
        raise KeyError(language)
    file = files(__name__).joinpath(f"{language}.toml")
    return Catalogue(language, tomllib.loads(file.read_text(encoding="utf-8")))


def chosen_catalogue(environ: Mapping[str, str] = os.environ) -> Catalogue:
    """The texts for terminals: the language that :data:`SETTING` names, else English.

    ``de_DE.UTF-8`` means ``de``.
    """
    wanted = environ.get(SETTING, ENGLISH).replace("-", "_").split("_")[0].split(".")[0].lower()
    return catalogue(wanted if wanted in LANGUAGES else ENGLISH)
