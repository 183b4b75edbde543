"""Reasons that the page's server gives for refusing or failing a request."""

from __future__ import annotations

from enum import StrEnum


class PageReason(StrEnum):
    """Reasons in English; the page translates them like its own texts."""

    INTERNAL = "internal error; see the journal of cubist-web"
    NO_SESSION = "log in with the token that `cubist web` prints"
    TOO_MANY_TOKENS = "too many wrong tokens; wait a minute"
    WRONG_TOKEN = "that is not the token that `cubist web` prints"
    TOO_MANY_TABS = "the page is open in too many tabs; close one"
    NOT_RUNNING = "cubistd is not running"
    NOT_PERMITTED = "cubist-web has no permission to talk to cubistd"
    NO_ROOM = "this computer cannot open another connection to cubistd"
    NO_ANSWER = "cubistd ended, or does not answer in time"
    STRANGE_ANSWER = "cubistd's answer cannot be used: it is a different version"
    NOT_YET = "cubistd has not answered yet"
    ENDED = "cubistd ended"
    NO_GUIDE = "calibrating on the page is switched off"
    OTHER_GUIDE = "the robot is being calibrated in another tab"
    GUIDE_FAILED = "the guide ended unexpectedly; see the journal of cubist-web"
