"""Fit the generator's parameters to a trace file and print them.

Usage: `python tests/bench/fit.py TRACE...`; `scheduler/simulation/profiles.py` holds what
it printed for the two public traces named there.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from scheduler.simulation.fitting import fit
from scheduler.simulation.traces import read_trace


def main(paths: list[str]) -> int:
    """Print one profile for each trace; 2 when none is named."""
    if not paths:
        print(__doc__, file=sys.stderr)  # noqa: T201 - a command prints
        return 2
    for path in paths:
        with Path(path).open("rb") as file:
            profile = fit(read_trace(file, path))
        print(path)  # noqa: T201 - a command prints
        for parameter in dataclasses.fields(profile):
            value = getattr(profile, parameter.name)
            print(f"    {parameter.name}={value!r},")  # noqa: T201 - a command prints
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
