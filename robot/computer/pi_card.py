"""A card with Raspberry Pi OS that sets itself up: user, network and robot, with nobody logged in.

An image of Raspberry Pi OS 13 has cloud-init, which reads three files of the boot partition at the
first start: ``user-data`` (users, files, commands), ``network-config`` and ``meta-data``. A new
``instance-id`` in ``meta-data`` makes the next start a first one. The kernel's command line names
cloud-init's source with the same id, as Raspberry Pi Imager writes it. A YAML library makes every
file from checked values, so that no value can become another key.

Sources: pi-gen, ``stage2/04-cloud-init``; Raspberry Pi Imager, ``customization_generator.cpp``;
cloud-init's description of NoCloud.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
import re
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robot.computer.boot_config import BACKUP_SUFFIX, BootChange, plan_fix
from robot.records.storage import StorageError, remove_leftovers, write_atomically
from robot.settings import list_profiles, load_profile
from solver.errors import InvalidRequest
from solver.files import BadFile, decode_text, read_file, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT = 1 << 20
"""Maximum bytes of a text file on the card, and of a file with keys or a password."""
LARGEST_PACKAGE = 1 << 29
ROOM = 16 << 20
"""Bytes that stay free on the card, for logs and the kernel's next version."""

MARK = "# Made by cubist pi-card; to change it, run that again."
USER_DATA, NETWORK, META_DATA, COMMAND_LINE = (
    *("user-data", "network-config", "meta-data"),
    "cmdline.txt",
)
DEBIAN = "13"
"""Debian release of the images that have cloud-init."""
CODENAME = "trixie"
ARCHITECTURE = "arm64"
PACKAGE = "cubist"
BOOT = "/boot/firmware"
"""The boot partition of a running Pi."""
FIRST_BOOT = "cubist-first-boot"
PI_CAMERA = "picamera2"
_UNIT = f"""[Unit]
Description=Install Cubist
After=cloud-final.service

[Service]
Type=oneshot
ExecStart=/usr/local/sbin/{FIRST_BOOT} {{arguments}}
Restart=on-failure
RestartSec=30
RestartSteps=6
RestartMaxDelaySec=30min

[Install]
WantedBy=multi-user.target
"""
_CUSTOMISED = ("firstrun.sh", "custom.toml", "rpi-preseed.toml")
"""Files by which other programs set a card up, each in its own way."""
_SYSTEM_USERS = {"root", "daemon", "bin", "sys", "nobody", "cubist"}
_SECRET = re.compile(r"(?m)^([-+ ]\s*passw(?:or)?d: ).*$")
_PACKAGE_NAME = r"[A-Za-z0-9][A-Za-z0-9.+~_-]*\.deb"
_KEY_KINDS = (
    *("ssh-ed25519", "ssh-rsa"),
    *("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"),
    *("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"),
)


@dataclass(frozen=True)
class Wifi:
    """A wireless network: its name, its key as 64 hexadecimal digits, and the country's rules."""

    name: str
    key: str = field(repr=False)
    country: str

    @classmethod
    def derive(cls, name: str, password: str, country: str) -> Wifi:
        """Check a network and derive its key (WPA2); raises :class:`InvalidRequest`."""
        if not name.isprintable() or not 1 <= len(name.encode()) <= 32:
            raise InvalidRequest(f"{name!r} is not a Wi-Fi name: use 1 to 32 printable bytes")
        if not re.fullmatch(r"[A-Z]{2}", country):
            raise InvalidRequest(
                f"{country!r} is not a Wi-Fi country: use two capitals, such as DE"
            )
        if re.fullmatch(r"[0-9a-fA-F]{64}", password):
            return cls(name, password.lower(), country)
        if not re.fullmatch(r"[ -~]{8,63}", password):
            raise InvalidRequest("The Wi-Fi's password needs 8 to 63 characters of ASCII")
        key = hashlib.pbkdf2_hmac("sha1", password.encode(), name.encode(), 4096, 32)
        return cls(name, key.hex(), country)


@dataclass(frozen=True)
class CardSettings:
    """The owner's settings for the card; :func:`plan_card` checks them.

    Exactly one of these is given: ``package``, a Debian package to put on the card, or
    ``repository``, a folder made by `make repository`.
    """

    user: str
    host_name: str
    robot: str
    ssh_keys: Sequence[str] = ()
    password: str | None = field(default=None, repr=False)
    wifi: Wifi | None = None
    package: Path | None = None
    repository: Path | None = None


@dataclass(frozen=True)
class CardChange:
    """Changes of a card's boot partition.

    ``outdated``: the package of an earlier run, to be removed.
    """

    folder: Path
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    boot: BootChange
    package: Path | None
    outdated: Path | None

    @property
    def names(self) -> list[str]:
        """The names of the files to change, add or remove, in the order of work."""
        names = [name for name, data in self.after.items() if self.before.get(name) != data]
        names += ["config.txt"] if self.boot.diff else []
        # The command line makes the next start a first one; an interruption before it does no harm.
        names.sort(key=lambda name: name == COMMAND_LINE)
        new = self.package is not None and not _same_file(self.package, self.folder)
        names += [self.outdated.name] if self.outdated else []
        return ([self.package.name] if new and self.package else []) + names

    @property
    def diff(self) -> str:
        """The change of texts as a unified diff, without secrets; empty if there is none.

        Files that somebody else wrote are named but not shown: any line may be a password.
        """
        text = self.boot.diff
        for name, data in self.after.items():
            before = self.before.get(name, b"")
            if data == before:
                continue
            was, becomes, sides = name, name, [before, data]
            if not _may_be_shown(name, before):
                was, sides[0] = f"{name} (replaced; kept as {name}{BACKUP_SUFFIX})", b""
            if not _may_be_shown(name, data):
                becomes, sides[1] = f"{name} (put back from {name}{BACKUP_SUFFIX})", b""
            old, new = (
                part.decode("utf-8", "backslashreplace").splitlines(keepends=True) for part in sides
            )
            lines = list(difflib.unified_diff(old, new, was, becomes))
            text += "".join(lines or [f"--- {was}\n+++ {becomes}\n"])
        return _SECRET.sub(r"\1(secret)", text)

    def write(self) -> list[Path]:
        """Write the changes and return the files in which earlier contents are kept.

        Each file is replaced as a whole. Raises ``StorageError``.
        """
        kept = []
        remove_leftovers(self.folder)
        for name in self.names:
            path = self.folder / name
            if self.package is not None and name == self.package.name:
                self._copy_package(path)
            elif path == self.outdated:
                _remove(path)
            elif name == "config.txt":
                self.boot.write()
                kept += [self.boot.backup] if self.boot.backup.exists() else []
            else:
                before = self.before.get(name)
                backup = path.with_name(name + BACKUP_SUFFIX)
                if before is not None and not _is_ours(name, before):
                    write_atomically(backup, before)
                    kept.append(backup)
                write_atomically(path, self.after[name])
        return kept

    def _copy_package(self, path: Path) -> None:
        assert self.package is not None
        size = self.package.stat().st_size
        free = shutil.disk_usage(self.folder).free
        if free < size + ROOM:
            raise StorageError(
                f"{self.folder}: the package has {size >> 20} MB, but {free >> 20} MB are free",
                "write the image again: its boot partition has 512 MB",
            )
        write_atomically(path, read_file(self.package, LARGEST_PACKAGE))


def plan_card(folder: Path, wanted: CardSettings, *, replace: bool = False) -> CardChange:
    """Plan the files of a card's boot partition; nothing is written.

    ``replace`` allows setting aside a set-up that somebody else made. Raises
    :class:`InvalidRequest`, ``BadFile`` and ``BadProfile``.
    """
    _check_names(wanted)
    if wanted.robot not in list_profiles():
        known = ", ".join(list_profiles())
        raise InvalidRequest(f"{wanted.robot!r} is not a robot that comes with Cubist", known)
    profile = load_profile(wanted.robot)
    before = _read_card(folder)
    ours = _is_ours(USER_DATA, before[USER_DATA])
    if not ours and not replace:
        _refuse_others_work(folder, before)
    password = None
    if wanted.password is not None:
        password = _hash(wanted.password, before[USER_DATA] if ours else b"")
    places = _apt_files(wanted.repository) if wanted.repository else []
    package = PACKAGE
    if wanted.package is not None:
        _check_package(wanted.package)
        package = f"{BOOT}/{wanted.package.name}"
    more = ["python3-picamera2"] if any(c.kind == PI_CAMERA for c in profile.cameras) else []
    words = [package, wanted.user, wanted.robot, *more]
    after = {
        USER_DATA: _user_data(wanted, password, places, words),
        NETWORK: _network(wanted.wifi, before[NETWORK], folder),
    }
    identity = hashlib.sha256(b"\0".join(after.values())).hexdigest()[:16]
    after[META_DATA] = f"{MARK}\ndsmode: local\ninstance-id: cubist-{identity}\n".encode()
    after[COMMAND_LINE] = _command_line(before[COMMAND_LINE], identity, wanted.wifi)
    boot = plan_fix(folder / "config.txt", profile, "")
    outdated = _find_outdated(folder, before[USER_DATA], wanted.package) if ours else None
    return CardChange(folder, before, after, boot, wanted.package, outdated)


def _find_outdated(folder: Path, before: bytes, package: Path | None) -> Path | None:
    """Return the package named by our previous user-data, unless the card keeps it."""
    found = re.search(rf"{FIRST_BOOT} {BOOT}/({_PACKAGE_NAME}) ".encode(), before)
    if found is None:
        return None
    path = folder / found[1].decode()
    # The partition ignores the case of letters.
    stays = package is not None and package.name.casefold() == path.name.casefold()
    return path if path.is_file() and not stays else None


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: cannot be removed: {error.strerror}") from error


def read_ssh_keys(path: Path) -> list[str]:
    """Return the public keys in a file; raises ``BadFile`` for anything else in it."""
    text = decode_text(read_file(path, LIMIT), path)
    if "PRIVATE KEY" in text:
        raise BadFile(f"{path}: this is a private key. Name the public one: {path}.pub")
    lines = [line.strip() for line in text.splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise BadFile(f"{path}: contains no key")
    for key in keys:
        kind, data, *_ = [*key.split(maxsplit=2), ""]
        if kind not in _KEY_KINDS or not key.isprintable() or not _holds_kind(data, kind):
            raise BadFile(f"{path}: not an SSH public key: {key[:40]}")
    return keys


def _holds_kind(data: str, kind: str) -> bool:
    """Return whether the data of a public key begin with its kind, as ssh writes them."""
    try:
        found = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return found.startswith(len(kind).to_bytes(4, "big") + kind.encode())


def _check_names(wanted: CardSettings) -> None:
    if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", wanted.user) or wanted.user in _SYSTEM_USERS:
        raise InvalidRequest(
            f"{wanted.user!r} cannot be a user name: use up to 32 small letters and digits, and "
            "none of the system's own names"
        )
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", wanted.host_name):
        raise InvalidRequest(
            f"{wanted.host_name!r} is not a host name: use up to 63 small letters, digits and "
            "inner hyphens"
        )
    if not wanted.ssh_keys and wanted.password is None:
        raise InvalidRequest("nobody could log in", "give --ssh-key or --password-file")
    if (wanted.package is None) == (wanted.repository is None):
        raise InvalidRequest("Cubist comes from one place", "give either --package or --repository")


def _read_card(folder: Path) -> dict[str, bytes]:
    """Return the texts of a boot partition; raises ``BadFile`` for unsuitable images."""
    if not all((folder / name).is_file() for name in ("config.txt", COMMAND_LINE)):
        raise BadFile(
            f"{folder}: no boot partition of Raspberry Pi OS with config.txt and cmdline.txt"
        )
    if any((folder / name).exists() for name in ("kernel7.img", "kernel7l.img")):
        raise BadFile(f"{folder}: this is a 32-bit image. Write the 64-bit one to the card")
    for name in _CUSTOMISED:
        if (folder / name).exists():
            raise BadFile(
                f"{folder / name}: the card was set up by another program. Write the image again, "
                "without its customisation"
            )
    if not all((folder / name).is_file() for name in (USER_DATA, NETWORK, META_DATA)):
        raise BadFile(
            f"{folder}: this image has no cloud-init, which reads user-data. Raspberry Pi OS 13 "
            "(trixie) has it since November 2025. On an older one set up user, Wi-Fi and SSH with "
            "Raspberry Pi Imager, then install the package by hand (docs/install.md)"
        )
    names = (USER_DATA, NETWORK, META_DATA, COMMAND_LINE)
    return {name: read_file(folder / name, LIMIT) for name in names}


def _refuse_others_work(folder: Path, before: Mapping[str, bytes]) -> None:
    """Raise ``InvalidRequest`` if somebody added more than comments, which the image has too."""
    changed = [name for name in (USER_DATA, NETWORK) if _statements(before[name])]
    if b"ds=nocloud" in before[COMMAND_LINE]:
        changed.append(COMMAND_LINE)
    if changed:
        raise InvalidRequest(
            f"{folder}: {', '.join(changed)} set the card up already",
            f"--replace keeps them as *{BACKUP_SUFFIX} and writes others",
        )


def _statements(data: bytes) -> list[bytes]:
    lines = (line.strip() for line in data.splitlines())
    return [line for line in lines if line and not line.startswith(b"#")]


def _is_ours(name: str, data: bytes) -> bool:
    """Return whether we wrote a file or, for the command line, whether it has our part."""
    if name == COMMAND_LINE:
        return b"ds=nocloud;i=cubist-" in data
    return MARK.encode() in data.splitlines()[:2]


def _may_be_shown(name: str, data: bytes) -> bool:
    """Return whether a text is free of other people's passwords; a command line always is."""
    return name == COMMAND_LINE or _is_ours(name, data)


def _hash(password: str, before: bytes) -> str:
    """Return a password's hash as in /etc/shadow, with the salt in ``before`` if it has one."""
    if not password or not password.isprintable():
        raise InvalidRequest("The password needs one character or more, all printable")
    old = re.search(rb"\$6\$([./0-9A-Za-z]{16})\$", before)
    salt = old[1].decode() if old else secrets.token_hex(8)
    if shutil.which("openssl") is None:
        raise InvalidRequest("openssl, which hashes the password, is not installed")
    done = subprocess.run(
        ["openssl", "passwd", "-6", "-salt", salt, "-stdin"],
        input=password + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def _check_package(path: Path) -> None:
    """Raise ``BadFile`` unless a package is Cubist's for this image."""
    if not path.is_file():
        raise BadFile(f"{path}: no such file")
    if shutil.which("dpkg-deb") is None:
        raise InvalidRequest("dpkg-deb, which reads the package, is not installed")
    shown = "${Package} ${Version} ${Architecture}"
    command = ["dpkg-deb", "--show", "--showformat", shown, str(path.resolve())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadFile(f"{path}: not a Debian package")
    package, version, architecture = done.stdout.split()
    if (package, architecture) != (PACKAGE, ARCHITECTURE) or f"+deb{DEBIAN}" not in version:
        raise BadFile(
            f"{path}: {package} {version} for {architecture}, but the card needs {PACKAGE} for "
            f"Debian {DEBIAN} and {ARCHITECTURE}. Make it with: make deb ARCH={ARCHITECTURE}"
        )
    if not re.fullmatch(_PACKAGE_NAME, path.name):
        raise BadFile(f"{path}: rename it to letters, digits and . + ~ _ - with .deb at the end")


def _apt_files(folder: Path) -> list[dict[str, Any]]:
    """Return the files by which apt finds a repository and trusts its key."""
    source = folder / f"{PACKAGE}-{CODENAME}.sources"
    text = decode_text(read_file(source, LIMIT), source)
    if not re.search(r"^URIs: https?://\S+$", text, re.MULTILINE):
        raise BadFile(
            f"{source}: no address that a Pi can reach. Run: make repository ADDRESS=https://..."
        )
    keyring = re.search(r"^Signed-By: (/etc/apt/keyrings/[a-z0-9.-]+\.gpg)$", text, re.MULTILINE)
    if keyring is None:
        raise BadFile(f"{source}: it names no key in /etc/apt/keyrings. Make it again.")
    key = base64.b64encode(read_file(folder / f"{PACKAGE}.gpg", LIMIT)).decode()
    return [
        {"path": keyring[1], "encoding": "b64", "content": key},
        {"path": f"/etc/apt/sources.list.d/{PACKAGE}.sources", "content": text},
    ]


def _user_data(
    wanted: CardSettings,
    password: str | None,
    places: Sequence[Mapping[str, Any]],
    words: Sequence[str],
) -> bytes:
    # `user` changes the image's own user and keeps its groups; `users` would create one without.
    user: dict[str, Any] = {"name": wanted.user, "shell": "/bin/bash"}
    user["lock_passwd"] = password is None
    if password is not None:
        user["passwd"] = password
    # Without a password, nobody could answer sudo.
    user["sudo"] = "ALL=(ALL) NOPASSWD:ALL" if password is None else None
    if wanted.ssh_keys:
        user["ssh_authorized_keys"] = list(wanted.ssh_keys)
    program = read_text(Path(__file__).with_name("first-boot"), LIMIT)
    unit = _UNIT.format(arguments=" ".join(words))
    document = {
        "hostname": wanted.host_name,
        "manage_etc_hosts": True,
        "user": user,
        "ssh_pwauth": not wanted.ssh_keys,
        "apt": {"preserve_sources_list": True},
        "write_files": [
            *places,
            _file(f"/usr/local/sbin/{FIRST_BOOT}", program, "0755"),
            _file(f"/etc/systemd/system/{FIRST_BOOT}.service", unit, "0644"),
        ],
        "runcmd": [
            ["systemctl", "enable", "--now", "ssh"],
            ["systemctl", "daemon-reload"],
            ["systemctl", "enable", "--now", "--no-block", FIRST_BOOT],
        ],
    }
    return f"#cloud-config\n{MARK}\n{_yaml(document)}".encode()


def _file(path: str, content: str, permissions: str) -> dict[str, Any]:
    return {"path": path, "content": content, "permissions": permissions}


def _network(wifi: Wifi | None, before: bytes, folder: Path) -> bytes:
    """Return network-config; without Wi-Fi, the image's own, which uses DHCP."""
    if wifi is None:
        backup = folder / f"{NETWORK}{BACKUP_SUFFIX}"
        if not _is_ours(NETWORK, before):
            return before
        return read_file(backup, LIMIT) if backup.is_file() else f"{MARK}\n".encode()
    cable = {"dhcp4": True, "dhcp6": True, "optional": True}
    radio = {
        "dhcp4": True,
        "optional": True,
        "regulatory-domain": wifi.country,
        "access-points": {wifi.name: {"password": wifi.key}},
    }
    network = {"version": 2, "ethernets": {"eth0": cable}, "wifis": {"wlan0": radio}}
    return f"{MARK}\n{_yaml({'network': network})}".encode()


def _command_line(before: bytes, identity: str, wifi: Wifi | None) -> bytes:
    """Return the kernel's command line with cloud-init's source and the radio's country."""
    words = before.decode("latin-1").split()
    ours = ("ds=nocloud", "cfg80211.ieee80211_regdom=") if wifi else ("ds=nocloud",)
    words = [word for word in words if not word.startswith(ours)]
    words.append(f"ds=nocloud;i=cubist-{identity}")
    words += [f"cfg80211.ieee80211_regdom={wifi.country}"] if wifi else []
    return (" ".join(words) + "\n").encode("latin-1")


def _yaml(document: Mapping[str, Any]) -> str:
    """Return a document as YAML, with multi-line texts as blocks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    found: str = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)
    return found


def _same_file(package: Path, folder: Path) -> bool:
    """Return whether the card already has exactly this package."""
    there = folder / package.name
    if not there.is_file() or there.stat().st_size != package.stat().st_size:
        return False
    return read_file(there, LARGEST_PACKAGE) == read_file(package, LARGEST_PACKAGE)
