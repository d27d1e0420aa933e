"""Kubernetes quantities: the text form of an amount, read and written exactly.

`<sign><digits>[.<digits>]<suffix>`, where the suffix is binary (`Ki` … `Ei`), decimal (`n`,
`u`, `m`, none, `k` … `E`) or an exponent (`e3`, `E-2`). Inside the engine an amount is a
whole number of the resource's base unit: thousandths of a core for `cpu`, ones (bytes, GPUs,
pods) for everything else. As in Kubernetes, what does not come out even is rounded up.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from scheduler.model import ResourceName

CPU = ResourceName("cpu")
_MOST = 2**63 - 1
_PATTERN = re.compile(
    r"(?P<sign>[+-]?)(?P<number>\d+\.?\d*|\.\d+)(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3})?",
    re.ASCII,
)
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
}
_BINARY = {f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)}
_UNITS = {**_DECIMAL, **_BINARY}


class QuantityError(ValueError):
    """A text that is no quantity, or one that no machine could hold."""


def read_exact(text: str | float) -> Fraction:
    """The value of a quantity in whole units (cores, bytes, GPUs), not rounded.

    YAML may have turned it into a number already. Raises QuantityError.
    """
    if isinstance(text, bool):
        raise QuantityError(f"{text} is not a quantity")
    return _read(repr(text) if isinstance(text, float) else str(text))


@lru_cache(maxsize=4096)  # the nodes and pods of a cluster say the same few again and again
def _read(written: str) -> Fraction:
    match = _PATTERN.fullmatch(written)
    if match is None:
        raise QuantityError(f'"{written}" is not a quantity; right would be 8, "500m" or "64Gi"')
    suffix = match["suffix"] or ""
    unit = _UNITS.get(suffix) or Fraction(10) ** int(suffix[1:])
    value = Fraction(match["number"].rstrip(".")) * unit
    if value > _MOST:
        raise QuantityError(f'"{written}" is larger than any machine can hold')
    return -value if match["sign"] == "-" else value


def read_quantity(resource: ResourceName, text: str | float) -> int:
    """A quantity in the resource's base unit, rounded up. Raises QuantityError."""
    return to_base(resource, read_exact(text))


def to_base(resource: ResourceName, value: Fraction) -> int:
    """Whole units as whole numbers of the base unit, rounded up. Raises QuantityError."""
    amount = math.ceil(value * 1000 if resource == CPU else value)
    if abs(amount) > _MOST:
        raise QuantityError(f"{value} {resource} is larger than any machine can hold")
    return amount


def write_quantity(resource: ResourceName, amount: int) -> str:
    """The text of an amount in base units; `read_quantity` gives the same amount back."""
    if resource == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource == "memory" or resource.endswith("storage"):
        for suffix, unit in reversed(_BINARY.items()):
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def write_exact(value: Fraction) -> str:
    """The text of a value, rounded down to nanos, in the form that Kubernetes prints."""
    nanos = math.floor(value * 10**9)
    for suffix, unit in reversed(_DECIMAL.items()):
        size = int(unit * 10**9)
        if nanos and nanos % size == 0:
            return f"{nanos // size}{suffix}"
    return "0" if not nanos else f"{nanos}n"
