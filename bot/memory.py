"""What the garbage collector of a process that serves goes through."""

from __future__ import annotations

import gc


def settle_memory() -> None:
    """Have the garbage collector pass over what is there now: a new engine is there to stay.

    Going through all of a large one takes longer than an acknowledgement may.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
