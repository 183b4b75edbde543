"""Who may use the page: the token that opens sessions, and the sessions it has opened."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path

from robot.records.storage import StorageError, write_atomically
from solver.files import BadFile, NoSuchFile, read_text

TOKEN_BYTES = 32
IDLE_LIMIT_S = 7 * 24 * 3600.0
MOST_SESSIONS = 64
MOST_FAILURES = 10
"""Wrong tokens a minute from one address; then it is not let in until the minute is over."""

MOST_KEPT = 1000

_TOKEN = re.compile("[A-Za-z0-9_-]{43}")


class TooManyAttempts(Exception):
    """Somebody tries tokens."""


def kept_token(folder: Path | None) -> str:
    """The token that ``folder`` keeps, made if need be; without a folder a new one each time.

    Raises :class:`StorageError`.
    """
    if folder is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    path = folder / "token"
    try:
        token = read_text(path, MOST_KEPT).strip()
        if _TOKEN.fullmatch(token):
            return token
    except NoSuchFile:
        pass
    except BadFile as error:
        raise StorageError(f"{error}; remove it") from error
    token = secrets.token_urlsafe(TOKEN_BYTES)
    write_atomically(path, token.encode() + b"\n", mode=0o600)
    return token


class Sessions:
    """The open sessions by their random ids. ``clock`` gives seconds.

    ``ended`` hears the id of each session that ends before its tabs do.
    """

    def __init__(
        self,
        token: str,
        ended: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token = token.encode()
        self._ended = ended
        self._clock = clock
        self._used_at: OrderedDict[str, float] = OrderedDict()
        self._failures: deque[tuple[float, str]] = deque(maxlen=MOST_KEPT)

    def open(self, token: str, address: str) -> str | None:
        """A new session's id for the right token, else None; raises :class:`TooManyAttempts`.

        ``address``: whose token it is. One who tries many locks nobody else out.
        """
        now = self._clock()
        while self._failures and now - self._failures[0][0] >= 60.0:
            self._failures.popleft()
        if sum(address == other for _, other in self._failures) >= MOST_FAILURES:
            raise TooManyAttempts
        if not hmac.compare_digest(token.encode(errors="replace"), self._token):
            self._failures.append((now, address))
            return None
        while len(self._used_at) >= MOST_SESSIONS:
            self._end(next(iter(self._used_at)))
        session = secrets.token_urlsafe(TOKEN_BYTES)
        self._used_at[session] = now
        return session

    def is_open(self, session: str) -> bool:
        """Whether it is; using a session keeps it open."""
        used_at = self._used_at.get(session)
        if used_at is None:
            return False
        if self._clock() - used_at > IDLE_LIMIT_S:
            self._end(session)
            return False
        self._used_at[session] = self._clock()
        self._used_at.move_to_end(session)
        return True

    def close(self, session: str) -> None:
        """End a session, if it is open."""
        if session in self._used_at:
            self._end(session)

    def _end(self, session: str) -> None:
        del self._used_at[session]
        self._ended(session)
