"""Make core/protocol.h, core/messages.h, robot/link/protocol.py and the tables in robot/.

They come from the two TOML files.

``generate_protocol.py`` writes them; ``--check`` only tells whether they are up to date.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

FIRMWARE = Path(__file__).resolve().parent.parent
HEADER = FIRMWARE / "core" / "protocol.h"
MESSAGES_HEADER = FIRMWARE / "core" / "messages.h"
MODULE = FIRMWARE.parent / "robot" / "link" / "protocol.py"
FAULT_NUMBERS = FIRMWARE.parent / "robot" / "text" / "fault_numbers.py"
FAULT_TABLE = FIRMWARE.parent / "robot" / "text" / "fault_table.json"
BOARD_TABLE = FIRMWARE.parent / "robot" / "settings" / "board_table.py"
NOTE = "Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit."
C_TYPES = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "mask": "actuator_mask",
}
PYTHON_NAMES = {"Kind": "ActuatorKind", "State": "BoardState"}
"""Enumerations whose short name means something else in Python; in C their members carry it."""
STRUCT_CODES = {"u8": "B", "u16": "H", "u32": "I", "i16": "h", "i32": "i", "mask": "B"}
MASK_BITS = 8
"""Actuators of a board whose masks are one byte; two on larger boards."""


def screaming(name: str) -> str:
    """``ConfigBegin`` as ``CONFIG_BEGIN``."""
    parts = "".join(f"_{c}" if c.isupper() else c for c in name)
    return parts.lstrip("_").upper()


def c_struct(name: str, fields: dict[str, list[str]]) -> list[str]:
    """A packed structure, as it lies in the payload."""
    lines = ["struct __attribute__((packed)) " + screaming(name).lower() + " {"]
    for field, (kind, about) in fields.items():
        comment = f" /* {about} */" if about else ""
        lines.append(f"    {C_TYPES[kind]} {field};{comment}")
    return [*lines, "};", ""]


def header(protocol: dict[str, Any]) -> str:
    """The C header."""
    out = [f"/* {NOTE} */", "#ifndef CUBIST_PROTOCOL_H", "#define CUBIST_PROTOCOL_H", ""]
    out += ["#include <stdint.h>", ""]
    for name, (value, about) in protocol["constants"].items():
        shown = f'"{value}"' if isinstance(value, str) else value
        out.append(f"#define PROTOCOL_{name} {shown} /* {about} */")
    for name, (first, behind, about) in protocol["pins"].items():
        out.append(f"#define PROTOCOL_FIRST_PIN_{name} {first}")
        out.append(f"#define PROTOCOL_PINS_{name} {behind} /* {about} */")
    out += step_macros(protocol["steps"])
    for name, (actuators, steppers, about) in protocol["actuators"].items():
        comment = f" /* {about} */" if about else ""
        out.append(f"#define PROTOCOL_ACTUATORS_{name} {actuators}")
        out.append(f"#define PROTOCOL_STEPPERS_{name} {steppers}{comment}")
    for part, value in zip(("MAJOR", "MINOR", "PATCH"), version_parts(protocol), strict=True):
        out.append(f"#define PROTOCOL_FIRMWARE_{part} {value}")
    stop = ", ".join(f"{byte:#04x}" for byte in stop_pattern(protocol))
    out.append("/* The frame of an emergency stop as it travels, without the final 00. */")
    out.append(f"#define PROTOCOL_STOP_PATTERN {{{stop}}}")
    out.append("")
    for enum, members in protocol["enums"].items():
        out.append(f"enum {screaming(enum).lower()} {{")
        for name, (value, about) in members.items():
            comment = f" /* {about} */" if about else ""
            out.append(f"    {screaming(enum)}_{name} = {value},{comment}")
        out += ["};", ""]
    out.append("enum fault {")
    out.append("    FAULT_NONE = 0,")
    for name, (code, about, *_) in protocol["faults"].items():
        if code < 64:
            out.append(f"    FAULT_{name} = {code}, /* {about} */")
    out += ["};", ""]
    for name, fields in protocol["structs"].items():
        out += c_struct(name, fields)
    out.append("enum message {")
    for name, message in protocol["messages"].items():
        constant = f"MESSAGE_{screaming(name)} = {message['id']:#04x}"
        out.append(f"    {constant}, /* {message['about']} */")
    out += ["};", ""]
    return "\n".join([*out, "#endif", ""])


def messages_header(protocol: dict[str, Any]) -> str:
    """Return the C header of the payloads, in which the size of a mask depends on the board."""
    out = [
        f"/* {NOTE} */",
        "/* clang-format off */",
        "#ifndef CUBIST_MESSAGES_H",
        "#define CUBIST_MESSAGES_H",
        "",
    ]
    out += ["#include <stdint.h>", "", '#include "board.h"', '#include "protocol.h"', ""]
    out += ["/* A bit for each actuator. */", f"#if BOARD_ACTUATORS > {MASK_BITS}"]
    out += ["typedef uint16_t actuator_mask;", "#else", "typedef uint8_t actuator_mask;"]
    out += ["#endif", ""]
    for name, message in protocol["messages"].items():
        if "fields" in message:
            out += c_struct(name, message["fields"])
    return "\n".join([*out, "#endif", ""])


def step_macros(steps: dict[str, list[int]]) -> list[str]:
    """The rates of each board, and all of them as a table that C looks up by name."""
    out = []
    for name, (interval, *rates) in steps.items():
        out.append(f"#define PROTOCOL_MIN_INTERVAL_{name} {interval}")
        for axes, rate in zip(("ONE", "TWO", "SIX"), rates, strict=True):
            out.append(f"#define PROTOCOL_RATE_{axes}_{name} {rate}")
    rows = [f'{{"{name.lower()}", {", ".join(map(str, row))}}}' for name, row in steps.items()]
    out.append("/* Board, shortest interval, rates of one, two and six motors. */")
    return [*out, "#define PROTOCOL_STEPS {" + ", ".join(rows) + "}"]


def version_parts(protocol: dict[str, Any]) -> list[int]:
    """The firmware version as three numbers."""
    return [int(part) for part in protocol["constants"]["FIRMWARE_VERSION"][0].split(".")]


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def stop_pattern(protocol: dict[str, Any]) -> bytes:
    """The emergency stop after COBS: none of its bytes is 00, so it is a length and the bytes."""
    any_session = protocol["constants"]["ANY_SESSION"][0]
    frame = bytes([any_session] * 3 + [protocol["messages"]["EmergencyStop"]["id"]])
    frame += crc16(frame).to_bytes(2, "little")
    assert 0 not in frame, "choose another type for EmergencyStop"
    return bytes([len(frame) + 1]) + frame


def sentence(text: str) -> str:
    """Capital letter and full stop, as docstrings have."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def python_enum(name: str, members: dict[str, list[Any]], base: str, about: str) -> list[str]:
    """An enumeration with a docstring for each member that has one."""
    lines = [f"class {name}({base}):", f'    """{about}"""', ""]
    for member, values in members.items():
        lines.append(f"    {member} = {values[0]}")
        if values[1]:
            lines += wrapped_docstring(sentence(values[1]), 4)
    return [*lines, "", ""]


def wrapped_docstring(text: str, indent: int) -> list[str]:
    """The text as a docstring of lines that fit."""
    pad = " " * indent
    if len(text) + indent + 6 <= 100:
        return [f'{pad}"""{text}"""']
    cut = text.rindex(" ", 0, 96 - indent)
    return [f'{pad}"""{text[:cut]}', f'{pad}{text[cut + 1 :]}"""']


def python_message(name: str, spec: dict[str, Any]) -> list[str]:
    """A frozen dataclass that packs and unpacks itself."""
    fields: dict[str, list[str]] = spec.get("fields", {})
    kinds = [kind for kind, _ in fields.values()]
    layout = "<" + "".join(STRUCT_CODES[kind] for kind in kinds)
    wide = "<" + "".join("H" if kind == "mask" else STRUCT_CODES[kind] for kind in kinds)
    about = sentence(spec["about"])
    lines = ["@dataclass(frozen=True, slots=True)", f"class {name}(Message):"]
    lines += [*wrapped_docstring(about, 4), ""]
    lines += [
        f"    TYPE: ClassVar[int] = 0x{spec['id']:02X}",
        f'    LAYOUT: ClassVar[Struct] = Struct("{layout}")',
        *[f'    WIDE: ClassVar[Struct | None] = Struct("{wide}")'] * (wide != layout),
        *["    TAIL: ClassVar[bool] = True"] * ("tail" in spec),
    ]
    if fields:
        lines.append("")
    for field, (_, note) in fields.items():
        lines.append(f"    {field}: int")
        if note:
            lines += wrapped_docstring(sentence(note), 4)
    if "tail" in spec:
        lines += ["", f"    {spec['tail']}: bytes"]
    return [*lines, "", ""]


def fault_rows(protocol: dict[str, Any], host: dict[str, Any]) -> str:
    """Return a row for each fault by its stable name, as JSON: the fields of ``FaultRow``."""
    numbered = {
        name.lower().replace("_", "-"): row for name, (_, *row) in protocol["faults"].items()
    }
    rows = {}
    for name, (about, cause, remedy, outcome, *flags) in (numbered | host["faults"]).items():
        texts = {"about": about, "cause": cause, "remedy": remedy, "outcome": outcome}
        rows[name] = texts | {FAULT_FLAGS[flag]: True for flag in flags}
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


FAULT_FLAGS = {
    "recoverable": "recoverable",
    "stops-at-once": "stops_at_once",
    "actuator": "names_actuator",
    "outputs": "loses_outputs",
    "line": "names_line",
}
"""Words at the end of a fault's row -> fields of ``FaultRow``."""

BASE = '''

class Message:
    """A message: header fields are the frame's, these are the payload's."""

    TYPE: ClassVar[int]
    LAYOUT: ClassVar[Struct]
    WIDE: ClassVar[Struct | None] = None
    """Its layout at boards whose masks of actuators have two bytes, if that differs."""
    TAIL: ClassVar[bool] = False
    """Whether bytes of any number follow the other fields."""
    __slots__: tuple[str, ...] = ()

    def payload(self, wide: bool = False) -> bytes:
        """Return the payload as it travels; ``wide``: to a board with masks of two bytes."""
        values = [getattr(self, name) for name in self.__slots__]
        tail: bytes = values.pop() if self.TAIL else b""
        return self._layout(wide).pack(*values) + tail

    @classmethod
    def parse(cls, payload: bytes, wide: bool = False) -> Self:
        """Parse a payload; raises ``struct.error`` for a wrong length."""
        make: Callable[..., Self] = cls
        layout = cls._layout(wide)
        if not cls.TAIL:
            return make(*layout.unpack(payload))
        size = layout.size
        return make(*layout.unpack(payload[:size]), payload[size:])

    @classmethod
    def _layout(cls, wide: bool) -> Struct:
        return cls.WIDE if wide and cls.WIDE is not None else cls.LAYOUT

'''


def fault_module(protocol: dict[str, Any]) -> str:
    """Return the Python module of the faults' numbers."""
    numbered = {"NONE": [0, "nothing is wrong"]} | protocol["faults"]
    out = ['"""Numbers of faults on the wire.', "", NOTE, '"""', ""]
    out += ["from __future__ import annotations", "", "from enum import IntEnum", "", ""]
    about = "A fault of board or link, by its code on the wire."
    out += python_enum("Fault", numbered, "IntEnum", about)
    return "\n".join(out).rstrip("\n") + "\n"


def module(protocol: dict[str, Any]) -> str:
    """The Python module."""
    out = ['"""Messages and limits of the link.', "", NOTE, '"""', ""]
    out += ["from __future__ import annotations", ""]
    out += ["from collections.abc import Callable, Mapping", "from dataclasses import dataclass"]
    out += ["from enum import IntEnum, IntFlag", "from struct import Struct"]
    out += ["from typing import ClassVar, Self", ""]
    for name, (value, about) in protocol["constants"].items():
        shown = f'"{value}"' if isinstance(value, str) else value
        out += [f"{name} = {shown}", *wrapped_docstring(sentence(about), 0)]
    out.append(BASE)
    for name, members in protocol["enums"].items():
        base = "IntFlag" if name == "ActuatorFlag" else "IntEnum"
        python_name = PYTHON_NAMES.get(name, name)
        out += python_enum(python_name, members, base, f"{python_name} on the wire.")
    for name, members in protocol["structs"].items():
        layout = "<" + "".join(STRUCT_CODES[kind] for kind, _ in members.values())
        out += [f'{screaming(name)} = Struct("{layout}")']
        out += wrapped_docstring(sentence(", ".join(members)), 0)
    out += ["", ""]
    for name, spec in protocol["messages"].items():
        out += python_message(name, spec)
    out += ["MESSAGES: Mapping[int, type[Message]] = {", "    m.TYPE: m", "    for m in ("]
    out += [f"        {name}," for name in protocol["messages"]]
    out += ["    )", "}"]
    return "\n".join([*out, '"""Every message by its type on the wire."""', ""])


def board_module(protocol: dict[str, Any]) -> str:
    """The Python module of what boards have and can do."""
    limits = {name: value for name, (value, _) in protocol["constants"].items()}
    per_us = limits["TICKS_PER_US"]
    pulses = (limits["MIN_PULSE"] // per_us, limits["MAX_PULSE"] // per_us)
    speeds = tuple(1_000_000 * per_us // limits[f"{name}_INTERVAL"] for name in ("MAX", "MIN"))
    out = ['"""What the boards that run the firmware have and can do.', "", NOTE, '"""', ""]
    out += ["from __future__ import annotations", "", "from collections.abc import Mapping", ""]
    out += ["PINS: Mapping[str, range] = {"]
    for name, (first, behind, _) in protocol["pins"].items():
        span = f"{first}, {behind}" if first else behind
        out += [f'    "{name.lower()}": range({span}),']
    out += ["}", '"""Numbers of the pins, by ``firmware.target``."""']
    out += ["PIN_NOTES: Mapping[str, str] = {"]
    for name, (_, _, about) in protocol["pins"].items():
        out += [f'    "{name.lower()}": "{about}",']
    out += ["}", '"""What a person should know of them."""']
    out += ["MAX_STEPS_PER_S: Mapping[str, int] = {"]
    out += [f'    "{name.lower()}": {one:_},' for name, (_, one, *_) in protocol["steps"].items()]
    out += [
        "}",
        '"""Steps that a plan may ask of a motor that moves alone, by ``firmware.target``."""',
    ]
    for name, at, about in (
        ("ACTUATORS", 0, "Most actuators of a board."),
        ("STEPPERS", 1, "Most steppers among them."),
    ):
        out += [f"{name}: Mapping[str, int] = {{"]
        out += [f'    "{one.lower()}": {row[at]},' for one, row in protocol["actuators"].items()]
        out += ["}", f'"""{about}"""']
    out += [f"WIDE_MASKS = {MASK_BITS}", '"""Boards of more actuators have masks of two bytes."""']
    out += [f"PULSE_US = {pulses}", '"""Shortest and longest pulse of a servo."""']
    out += [f"STEPS_PER_S = {speeds}", '"""Lowest and highest speed of a stepper."""']
    for name, value, about in (
        ("TICKS_PER_US", per_us, protocol["constants"]["TICKS_PER_US"][1]),
        ("TICKS_PER_S", per_us * 1_000_000, "the same in a second"),
        ("MAX_INTERVAL_TICKS", limits["MAX_INTERVAL"], "longest time between two steps"),
        ("FRAME_US", limits["SERVO_FRAME"] // per_us, "between two pulses of a servo"),
        *(
            (name, *protocol["constants"][name])
            for name in ("FIRST_CHANNEL", "CHANNELS", "FIRST_MAESTRO", "MAX_DRIVERS")
        ),
    ):
        out += [f"{name} = {value:_}", *wrapped_docstring(sentence(about), 0)]
    return "\n".join([*out, ""])


def require_rows(protocol: dict[str, Any]) -> None:
    """Raise ``ValueError`` that names each table without a row for one of the boards."""
    tables = {f"[{name}]": protocol[name] for name in ("pins", "steps", "actuators")}
    tables["[enums.Board]"] = protocol["enums"]["Board"]
    boards = dict.fromkeys(board for rows in tables.values() for board in rows)
    lacking = [
        f"{table} has no {board}"
        for board in boards
        for table, rows in tables.items()
        if board not in rows
    ]
    if lacking:
        raise ValueError(f"firmware/protocol.toml: {', '.join(lacking)}")


def generated(protocol_file: Path = FIRMWARE / "protocol.toml") -> dict[Path, str]:
    """The files' texts by path."""
    protocol = tomllib.loads(protocol_file.read_text(encoding="utf-8"))
    require_rows(protocol)
    host = tomllib.loads((FIRMWARE / "host_faults.toml").read_text(encoding="utf-8"))
    return {
        HEADER: header(protocol),
        MESSAGES_HEADER: messages_header(protocol),
        MODULE: module(protocol),
        FAULT_NUMBERS: fault_module(protocol),
        FAULT_TABLE: fault_rows(protocol, host),
        BOARD_TABLE: board_module(protocol),
    }


def main() -> int:
    """Write the files, or with ``--check`` compare them."""
    try:
        files = generated()
    except ValueError as error:
        sys.exit(str(error))
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path} is not up to date; run firmware/tools/generate_protocol.py")
        return bool(stale)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
