"""The base of every settings model, the numbers with units that they share, and kinds of parts.

A profile names the kind of a part (``kind: flipper``). Each room that treats kinds differently has
a :class:`Kinds`, its registry of the kinds by name. A kind registers itself there, in the module
that defines it. Modules of built-in kinds are imported at their first use, so a lower room never
imports a higher one. A kind from elsewhere has to register before its profile is loaded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib import import_module
from operator import or_
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from robot.settings.board_table import PULSE_US
from solver.errors import InvalidRequest, shortened

Site = Literal["U", "R", "F", "D", "L", "B"]
"""A face position of the robot: x to the right, y up, z towards the viewer."""
OPPOSITE = {"U": "D", "D": "U", "R": "L", "L": "R", "F": "B", "B": "F"}
AXIS_OF = {"U": "y", "D": "y", "R": "x", "L": "x", "F": "z", "B": "z"}
"""The robot axis through each site."""
Axis = Literal["x", "y", "z"]
Rotation = Literal["x", "x2", "x'", "y", "y2", "y'", "z", "z2", "z'"]
"""A turn of the whole cube about a robot axis: x as an R turn, y as U, z as F."""
Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_-]{0,31}$",
        description=(
            "a name: lower-case letters, digits, - and _; a letter first; at most 32 characters"
        ),
    ),
]
Gpio = Annotated[
    int, Field(strict=True, ge=0, le=27, description="a GPIO (BCM) number of the Raspberry Pi")
]
Level = Literal["low", "high"]
"""Level of a pin: ground, or the supply of its logic."""
PulseUs = Annotated[
    int,
    Field(
        strict=True,
        ge=PULSE_US[0],
        le=PULSE_US[1],
        description=f"a servo pulse in microseconds, {PULSE_US[0]}..{PULSE_US[1]}",
    ),
]
TravelMs = Annotated[
    float,
    Field(strict=True, ge=1, le=20_000, description="milliseconds, 1..20000 (not seconds)"),
]
SettleMs = Annotated[
    float, Field(strict=True, ge=0, le=5_000, description="milliseconds, 0..5000 (not seconds)")
]
Steps = Annotated[
    int,
    Field(strict=True, ge=-1_000_000, le=1_000_000, description="steps, -1000000..1000000"),
]
PositiveSteps = Annotated[
    int, Field(strict=True, ge=1, le=1_000_000, description="steps, 1..1000000")
]
MAX_ACCELERATION = 100_000_000
"""Steps/s^2: four times that of a record holder's motor with 2,000 steps per turn."""
Acceleration = Annotated[
    int,
    Field(strict=True, ge=1, le=MAX_ACCELERATION, description=f"steps/s^2, 1..{MAX_ACCELERATION}"),
]


class Settings(BaseModel):
    """A frozen part of a profile. Unknown keys and infinite numbers are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def microseconds(milliseconds: float) -> int:
    """Convert milliseconds of a profile to the integer microseconds used internally."""
    return round(milliseconds * 1000)


Known = TypeVar("Known")


class Kinds(MutableMapping[str, Known]):
    """A room's registry of the kinds of ``part``; ``kinds["flipper"] = ...`` registers one.

    ``modules``: the module in which each built-in kind registers itself, or a pattern for the
    modules (``{kind}``: the kind's name, with ``_`` for ``-``) of the kinds in ``built_in``.
    Looking up an unknown kind raises :class:`InvalidRequest`.
    """

    def __init__(
        self, part: str, modules: str | Mapping[str, str] = "", built_in: tuple[str, ...] = ()
    ) -> None:
        self._part = part
        self._modules = (
            {kind: modules.format(kind=kind.replace("-", "_")) for kind in built_in}
            if isinstance(modules, str)
            else dict(modules)
        )
        self._known: dict[str, Known] = {}

    def __getitem__(self, kind: str) -> Known:
        if kind not in self._known and kind in self._modules:
            import_module(self._modules[kind])
        if kind not in self._known:
            raise InvalidRequest(f"no {self._part} {shortened(kind)}; available: {', '.join(self)}")
        return self._known[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._modules or kind in self._known

    def get(self, kind: str, default: Any = None) -> Any:  # noqa: ANN401
        """Return the value registered for ``kind``, otherwise ``default``."""
        return self[kind] if kind in self else default  # noqa: SIM401

    def __setitem__(self, kind: str, known: Known) -> None:
        self._known[kind] = known

    def __delitem__(self, kind: str) -> None:
        del self._known[kind]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, built-in kinds first. Import nothing."""
        return iter(dict.fromkeys([*self._modules, *self._known]))

    def __len__(self) -> int:
        return len(list(iter(self)))


class KindSettings(Settings, ABC):
    """Settings of a part that comes in several kinds, distinguished by ``kind``.

    Each part has a base class, whose ``kind`` is any text and whose :meth:`registry` holds its
    kinds. A kind derives from it and declares ``kind: Literal["its-name"]``. A field with the type
    of the base class accepts every kind that is registered when a value is read.
    """

    kind: str

    @classmethod
    @abstractmethod
    def registry(cls) -> Mapping[str, type[KindSettings]]:
        """Return the kinds of this part."""

    @classmethod
    def kinds(cls) -> tuple[type[KindSettings], ...]:
        """Return the types of a value of this type: all registered kinds, or this one."""
        return tuple(cls.registry().values()) if cls._is_any_kind() else (cls,)

    @classmethod
    def _is_any_kind(cls) -> bool:
        return cls.model_fields["kind"].annotation is str

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        """Return the schema of a base class, which looks at the registry when it reads a value."""
        if not cls._is_any_kind():
            return handler(source)
        return core_schema.no_info_plain_validator_function(
            lambda value: _any_of(cls.kinds()).validate_python(value)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """Return the JSON schema of a base class: any of the registered kinds."""
        return handler(_any_of(cls.kinds()).core_schema if cls._is_any_kind() else schema)


@lru_cache
def _any_of(kinds: tuple[type[KindSettings], ...]) -> TypeAdapter[KindSettings]:
    """Return the schema that reads a value of one of ``kinds``, by its ``kind``."""
    by_kind = Field(discriminator="kind")
    # The members of the union are known only now.
    return TypeAdapter(Annotated[reduce(or_, kinds), by_kind])  # type: ignore[arg-type]


@dataclass(frozen=True)
class OneOf:
    """Marks a text field whose values are registered names, read from ``names`` at each value."""

    names: Callable[[], tuple[str, ...]]

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema, which looks up the names only when it reads a value."""
        return core_schema.no_info_plain_validator_function(
            lambda value: SchemaValidator(self._literal()).validate_python(value)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema of the present names."""
        return handler(self._literal())

    def _literal(self) -> CoreSchema:
        return core_schema.literal_schema(list(self.names()))
