"""Debian root directories made with mmdebstrap, which reach what this machine reaches.

Sources and options of apt, the indexes of pip and the certificates are this machine's own: read
here, written into the root. A root is kept as an archive in ``build/debian``.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

CHECKOUT = Path(__file__).resolve().parents[2]
CACHE = CHECKOUT / "build" / "debian"
CODENAMES = {"12": "bookworm", "13": "trixie"}
NEWCOMER = "newcomer"
INCLUDED = "ca-certificates,passwd,sudo,tzdata"
"""What every installed Debian has and a minimal root has not."""
OLDEST_S = 30 * 24 * 3600
"""Older archives are made again: the packages in them were replaced."""
APT = Path("/etc/apt")
CERTIFICATES = Path("/usr/local/share/ca-certificates")
PLACES = {
    *("index-url", "extra-index-url", "find-links", "no-index", "trusted-host"),
    *("cert", "client-cert", "proxy", "timeout", "default-timeout", "retries"),
}
"""Settings of pip that say where packages come from."""


_HOOKS = (
    f'chroot "$1" useradd --create-home --shell /bin/bash {NEWCOMER}',
    f"echo '{NEWCOMER} ALL=(ALL) NOPASSWD: ALL' >\"$1/etc/sudoers.d/{NEWCOMER}\"",
    # apt asks before it installs, and nobody sits there.
    'echo \'APT::Get::Assume-Yes "true";\' >"$1/etc/apt/apt.conf.d/90yes"',
)


class NoDebian(Exception):
    """No root can be made here; the text says why."""


def unpacked(release: str, folder: Path) -> Path:
    """A fresh root of a release in ``folder``; raises :class:`NoDebian`."""
    archive = _archive(release)
    root = folder / "root"
    root.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", root], check=True)
    for name in ("hosts", "resolv.conf"):
        shutil.copyfile(Path("/etc", name).resolve(), root / "etc" / name)
    settings = "".join(f"{key} = {value}\n" for key, value in pip_settings().items())
    (root / "etc" / "pip.conf").write_text(f"[global]\n{settings}")
    return root


def local_places() -> list[Path]:
    """Folders and files of this machine that pip's settings name."""
    found = []
    for key, value in pip_settings().items():
        for word in value.split():
            path = Path(urlsplit(word).path if word.startswith("file:") else word)
            if not path.is_absolute() or not path.exists():
                continue
            # An index's pages refer to files beside it.
            found.append(path.parent if key.endswith("index-url") else path)
    return found


def pip_settings() -> Mapping[str, str]:
    """Where pip takes packages from, by its files and its environment, which comes last."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.partition("=") for line in listed.splitlines() if "=" in line]
    lines.sort(key=lambda line: line[0].startswith(":env:"))
    found = {name.rpartition(".")[2]: str(ast.literal_eval(text)) for name, _, text in lines}
    return {name: value for name, value in found.items() if name in PLACES}


def apt_options() -> str:
    """How apt fetches here (proxies, dates), as apt.conf."""
    listed = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    fetching = r"Acquire::(?!IndexTargets|CompressionTypes|GzipIndexes|cdrom)"
    kept = re.compile(fetching + r"[^ ]+ \"[^\"]+\";")
    return "".join(f"{line}\n" for line in listed.stdout.splitlines() if kept.fullmatch(line))


def apt_sources(codename: str) -> Mapping[str, str]:
    """This machine's sources of its own release as those of another: name of a file -> text.

    Raises :class:`NoDebian` where there are none.
    """
    own = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    suite = re.compile(rf"(?<=\s){re.escape(own)}(?=[-\s])")
    files = [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]
    texts = {path: path.read_text() + "\n" for path in files if path.is_file()}
    lines = [
        suite.sub(codename, line)
        for path, text in texts.items()
        if path.suffix == ".list"
        for line in text.splitlines(keepends=True)
        if line.startswith("deb ") and suite.search(line)
    ]
    stanzas = [
        re.sub(r"(?m)^Suites:.*$", lambda found: suite.sub(codename, found[0] + " ").strip(), part)
        for path, text in texts.items()
        if path.suffix == ".sources"
        for part in re.split(r"\n\s*\n", text)
        if (named := re.search(r"(?m)^Suites:.*\n", part)) and suite.search(named[0])
    ]
    found = {"machine.list": "".join(lines), "machine.sources": "\n\n".join(stanzas)}
    if codename not in CODENAMES.values() or not any(found.values()):
        raise NoDebian(f"apt has no sources of Debian here: nothing in {APT} names {own!r}")
    return {name: text + "\n" for name, text in found.items() if text}


def _archive(release: str) -> Path:
    """The root as an archive, made unless there is one from the same sources."""
    codename = CODENAMES[release]
    inputs = {**apt_sources(codename), "apt.conf": apt_options()}
    certificates = sorted(CERTIFICATES.rglob("*.crt"))
    parts = [INCLUDED, *inputs.values(), *(path.read_text() for path in certificates)]
    parts += [*_HOOKS]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    archive = CACHE / f"{codename}-{digest}.tar"
    if archive.exists() and time.time() - archive.stat().st_mtime < OLDEST_S:
        return archive
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{codename}-*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    settings = CACHE / f"{codename}-settings"
    settings.mkdir()
    for name, text in inputs.items():
        (settings / name).write_text(text)
    _make(codename, settings, archive)
    return archive


def _make(codename: str, settings: Path, archive: Path) -> None:
    unfinished = archive.with_suffix(".new.tar")
    hooks = [*_HOOKS]
    if CERTIFICATES.is_dir():
        hooks += [f"sync-in {CERTIFICATES} {CERTIFICATES}", 'chroot "$1" update-ca-certificates']
    command = ["mmdebstrap", "--variant=apt", f"--include={INCLUDED}"]
    command += [f"--aptopt={settings / 'apt.conf'}"]
    command += [f"--customize-hook={hook}" for hook in hooks]
    command += [codename, str(unfinished)]
    command += [str(path) for path in sorted(settings.glob("machine.*"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        raise NoDebian(f"mmdebstrap makes no {codename}: {done.stderr.strip()[-500:]}")
    unfinished.rename(archive)
