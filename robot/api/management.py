"""Documents for the robot's owner: its log, check-up, profile and restart."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from robot.records.documents import ApiDocument, ApiRequest, WholeNumber
from robot.records.profile_versions import ProfileVersion, ProfileVersions
from robot.records.run_record import NoteRecord
from robot.settings import BadProfile, Complaint


class LogLine(ApiDocument):
    """A line of the daemon's log. Numbers ascend, even across restarts of the daemon."""

    number: int
    time: datetime
    level: str
    source: str
    text: str


class LogLines(ApiDocument):
    """Lines of the log, the oldest first; ``latest`` is the number of the newest of any level."""

    lines: list[LogLine]
    latest: int


class CheckUpFinding(ApiDocument):
    """A finding of the check-up. ``remedy``: what to do, empty if all is well.

    ``fault``: code of the fault whose cause is ``text``, with its ``detail``. ``notes``: codes of
    text and remedy, if they have any.
    """

    about: str
    verdict: Literal["ok", "warning", "bad"]
    text: str
    remedy: str = ""
    fault: str = ""
    detail: str = ""
    notes: list[NoteRecord] = Field(default_factory=list)


class CheckUp(ApiDocument):
    """All findings of a check-up, in the order in which a person would repair them."""

    at: datetime
    findings: list[CheckUpFinding]


class ProfileComplaint(ApiDocument):
    """A fault of a profile; ``line`` counts from 1 (0: unknown)."""

    line: int
    key: str
    text: str


class ProfileText(ApiRequest):
    """The text of a profile."""

    text: str


class ProfileVerdict(ApiDocument):
    """The result of checking a profile: its ``title`` if it is good, else ``complaints``."""

    ok: bool
    title: str = ""
    complaints: list[ProfileComplaint] = Field(default_factory=list)

    @classmethod
    def explain(cls, error: BadProfile) -> Self:
        """Return the verdict on a profile that has faults."""
        found = error.complaints or [Complaint("", 0, "", str(error))]
        told = [ProfileComplaint(line=one.line, key=one.key, text=one.text) for one in found]
        return cls(ok=False, complaints=told)


class ProfileInForce(ApiDocument):
    """A version of the profile.

    ``version``: 0 is the file that the service's settings name. ``running``: the version the daemon
    started with, None if none runs. ``at``: when it was kept.
    """

    version: int
    running: int | None
    at: datetime | None
    file: str
    text: str

    @classmethod
    def describe(
        cls, versions: ProfileVersions, number: int | None = None, running: int | None = None
    ) -> Self:
        """Return a version, by default the one in force; raises ``StorageError``."""
        version = versions.latest
        if number is not None and number != version.number:
            found = (one for one in versions.list() if one.number == number)
            version = next(found, ProfileVersion(number, None, versions.original))
        return cls(
            version=version.number,
            running=running,
            at=version.at,
            file=str(versions.original if version.is_original else version.path),
            text=versions.text(version.number),
        )


class ProfileVersionSummary(ApiDocument):
    """One version of the profile; ``is_original``: it restores the original file."""

    version: int
    at: datetime | None
    is_original: bool
    is_in_force: bool
    is_running: bool


class ProfileVersionList(ApiDocument):
    """All versions of the profile, the newest first."""

    versions: list[ProfileVersionSummary]

    @classmethod
    def describe(cls, versions: ProfileVersions, running: int | None = None) -> Self:
        """Return all versions."""
        found = versions.list()
        return cls(
            versions=[
                ProfileVersionSummary(
                    version=one.number,
                    at=one.at,
                    is_original=one.is_original,
                    is_in_force=one is found[-1],
                    is_running=one.number == running,
                )
                for one in reversed(found)
            ]
        )


class RestoreProfileRequest(ApiRequest):
    """A request to restore a version."""

    version: WholeNumber = Field(ge=0)


class KeptProfile(ApiDocument):
    """The answer to keeping a profile, which takes effect when the daemon restarts."""

    version: int
    at: datetime


class RestartRequest(ApiRequest):
    """A request to restart the daemon; ``force`` stops a job or a calibration for it."""

    force: bool = False
