"""Debian root directories made with mmdebstrap, with the same network access as this machine.

The apt sources and options, the pip indexes and the certificates are read from this machine and
written into the root. A root is kept as an archive in ``build/debian``.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
CACHE = CHECKOUT / "build" / "debian"
CODENAMES = {"12": "bookworm", "13": "trixie"}
NEWCOMER = "newcomer"
INCLUDED = "ca-certificates,passwd,sudo,tzdata"
"""Packages that every installed Debian has and a minimal root lacks."""
OLDEST_S = 30 * 24 * 3600
"""Age above which an archive is made again, because its packages have been replaced."""
APT = Path("/etc/apt")
CERTIFICATES = Path("/usr/local/share/ca-certificates")
PLACES = {
    *("index-url", "extra-index-url", "find-links", "no-index", "trusted-host"),
    *("cert", "client-cert", "proxy", "timeout", "default-timeout", "retries"),
}
"""Settings of pip that say where packages come from."""
LAST = ("nice", "-n", "19", "setpriv", "--pdeathsig", "KILL")
"""Prefix that gives a command the lowest priority, because other tests measure time."""
_HOOKS = (
    f'chroot "$1" useradd --create-home --shell /bin/bash {NEWCOMER}',
    f"echo '{NEWCOMER} ALL=(ALL) NOPASSWD: ALL' >\"$1/etc/sudoers.d/{NEWCOMER}\"",
    # apt asks before it installs, and nobody is there to answer.
    'echo \'APT::Get::Assume-Yes "true";\' >"$1/etc/apt/apt.conf.d/90yes"',
)


def go_through(
    release: str, share: Path, scenario: Path, *arguments: str, architecture: str | None = None
) -> Mapping[str, str]:
    """Run a scenario as root in a fresh root, where ``share`` is /host; return its facts.

    Skip the test if no root of that release and architecture (default: this machine's) can be made.
    """
    with _place_for(release if architecture is None else f"{release}-{architecture}") as folder:
        root = unpack_root(release, folder, architecture)
        for name in ("hosts", "resolv.conf"):
            shutil.copyfile(Path("/etc", name).resolve(), root / "etc" / name)
        settings = "".join(f"{key} = {value}\n" for key, value in pip_settings().items())
        (root / "etc" / "pip.conf").write_text(f"[global]\n{settings}")
        _run_in(root, release, share, scenario, *arguments)
    return read_facts(share)


def unpack_root(
    release: str, folder: Path, architecture: str | None = None, packages: str = INCLUDED
) -> Path:
    """Put a root with these packages into a folder and return its path.

    Skip the test if none can be made.
    """
    archive = _archive(release, architecture, packages)
    root = folder / "root"
    root.mkdir()
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", root], check=True)
    return root


def why_no_root() -> str | None:
    return why_absent("mmdebstrap", "systemd-nspawn", "setpriv", "git")


def why_absent(*programs: str) -> str | None:
    if os.geteuid() != 0:
        return "only root may make a Debian and go into it"
    absent = [program for program in programs if shutil.which(program) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


def read_facts(share: Path) -> Mapping[str, str]:
    """Print a scenario's log and return its facts. Fail if it did not finish."""
    for name in ("console", "log"):
        if (share / name).exists():
            print((share / name).read_text(errors="replace"))
    lines = (share / "facts").read_text().splitlines() if (share / "facts").exists() else []
    found = [(name, value) for name, _, value in (line.partition("=") for line in lines)]
    # If a fact was reported twice, its worst value counts.
    worst = {name: max(value for other, value in found if other == name) for name, _ in found}
    assert worst.get("finished") == "yes", f"the scenario did not come to its end: {worst}"
    return worst


def assert_story(facts: Mapping[str, str], expected: str) -> None:
    """Compare facts with ``NAME=VALUE, NAME=VALUE``."""
    for fact in expected.split(", "):
        name, _, value = fact.partition("=")
        assert facts[name].strip() == value, name


def local_places() -> list[Path]:
    """Return the files and folders of this machine that pip's settings name."""
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
    """Return pip's package sources from its files and its environment, which takes precedence."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.partition("=") for line in listed.splitlines() if "=" in line]
    lines.sort(key=lambda line: line[0].startswith(":env:"))
    found = {name.rpartition(".")[2]: str(ast.literal_eval(text)) for name, _, text in lines}
    return {name: value for name, value in found.items() if name in PLACES}


def apt_options() -> str:
    """Return this machine's options for fetching (proxies, dates), as apt.conf."""
    listed = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    fetching = r"Acquire::(?!IndexTargets|CompressionTypes|GzipIndexes|cdrom)"
    kept = re.compile(fetching + r"[^ ]+ \"[^\"]+\";")
    return "".join(f"{line}\n" for line in listed.stdout.splitlines() if kept.fullmatch(line))


def apt_sources(codename: str) -> Mapping[str, str]:
    """Return this machine's apt sources rewritten for another release: file name -> text.

    Skip the test if there are none.
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
        pytest.skip(f"apt has no sources of Debian here: nothing in {APT} names {own!r}")
    return {name: text + "\n" for name, text in found.items() if text}


def _run_in(root: Path, release: str, share: Path, scenario: Path, *arguments: str) -> None:
    shutil.copy(scenario, share / "scenario")
    downloads = CACHE / "downloads" / release
    binds = [
        f"--bind={share}:/host",
        f"--bind={_made(downloads / 'apt')}:/var/cache/apt/archives",
        f"--bind={_made(downloads / 'pip')}:/home/{NEWCOMER}/.cache/pip",
        *(f"--bind-ro={path}" for path in local_places()),
    ]
    nspawn = ["systemd-nspawn", "--quiet", f"--directory={root}", "--as-pid2"]
    nspawn += ["--register=no", "--keep-unit", "--resolv-conf=off", "--timezone=off"]
    nspawn += ["--console=pipe", "--hostname=localhost"]
    with (share / "console").open("wb") as console:
        subprocess.run(
            [*LAST, *nspawn, *binds, "/host/scenario", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            check=False,
        )


@contextlib.contextmanager
def _place_for(kind: str) -> Iterator[Path]:
    """Yield a folder for a root and remove it afterwards. One root of a kind exists at a time."""
    roots = _made(CACHE / "roots")
    with (roots / f"{kind}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        folder = roots / kind
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed
        try:
            yield _made(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def bundle_checkout(bundle: Path) -> None:
    """Write a git bundle of this checkout's files as they are now, committed or not."""
    listed = ["git", "-C", str(CHECKOUT), "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    with tempfile.TemporaryDirectory(dir=bundle.parent) as copy:
        for name in filter(None, names):
            if (CHECKOUT / name).exists():
                _made((Path(copy) / name).parent)
                shutil.copy2(CHECKOUT / name, Path(copy) / name, follow_symlinks=False)
        git = ["git", "-C", copy, "-c", "user.name=Cubist", "-c", "user.email=cubist@localhost"]
        subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
        subprocess.run([*git, "add", "--all", "--force"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message=As it stands"], check=True)
        subprocess.run([*git, "bundle", "create", "--quiet", bundle, "HEAD", "main"], check=True)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _archive(release: str, architecture: str | None, packages: str) -> Path:
    """Return the root's archive. Make it unless one from the same sources exists."""
    codename = CODENAMES[release]
    kind = codename if architecture is None else f"{codename}-{architecture}"
    kind += "" if packages == INCLUDED else f"-{packages.count(',') + 1}-packages"
    inputs = {**apt_sources(codename), "apt.conf": apt_options()}
    certificates = sorted(CERTIFICATES.rglob("*.crt"))
    parts = [packages, *inputs.values(), *(path.read_text() for path in certificates)]
    parts += [*_HOOKS]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    archive = CACHE / f"{kind}-{digest}.tar"
    if archive.exists() and time.time() - archive.stat().st_mtime < OLDEST_S:
        return archive
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{kind}-{'[0-9a-f]' * 16}.tar"):
        old.unlink()
    settings = CACHE / f"{kind}-settings"
    shutil.rmtree(settings, ignore_errors=True)
    settings.mkdir()
    for name, text in inputs.items():
        (settings / name).write_text(text)
    _make(codename, architecture, packages, settings, archive)
    return archive


def _make(
    codename: str, architecture: str | None, packages: str, settings: Path, archive: Path
) -> None:
    unfinished = archive.with_suffix(".new.tar")
    hooks = [*_HOOKS]
    if CERTIFICATES.is_dir():
        hooks += [f"sync-in {CERTIFICATES} {CERTIFICATES}", 'chroot "$1" update-ca-certificates']
    command = ["mmdebstrap", "--variant=apt", f"--include={packages}"]
    command += [f"--architectures={architecture}"] if architecture else []
    command += [f"--aptopt={settings / 'apt.conf'}"]
    command += [f"--customize-hook={hook}" for hook in hooks]
    command += [codename, str(unfinished)]
    command += [str(path) for path in sorted(settings.glob("machine.*"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        pytest.skip(f"mmdebstrap makes no {codename}: {done.stderr.strip()[-500:]}")
    unfinished.rename(archive)
