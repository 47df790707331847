"""Compiled code: kept between commands, dropped when there is too much of it in a process.

Nothing here imports JAX before it is needed: it reads its environment only once.
"""

import hashlib
import os
import platform
import time
from pathlib import Path

__all__ = ["keep_compiled_code", "make_room", "memory_maps", "processor"]

CROWDED = 0.4
"""Share of the memory maps allowed to a process beyond which its compiled code is dropped."""
PAUSE = 1.0
"""Seconds between two looks at the memory maps; a look takes 3 ms or more."""


def processor() -> str:
    """What compiled code depends on: a fingerprint of the processor's features."""
    facts = platform.machine() + platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        facts += "".join(
            line for line in cpuinfo.read_text().splitlines() if line.startswith(("flags", "Features"))
        )
    return hashlib.sha256(facts.encode()).hexdigest()[:12]


def keep_compiled_code() -> None:
    """Let JAX keep compiled code between commands, one folder per kind of processor.

    What the user has set stands. XLA reports every reuse on stderr as a possible mismatch;
    the folder's name rules that out, so its log is turned down.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache / "dynafield" / processor()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def memory_maps() -> tuple[int, int] | None:
    """How many memory maps this process has and may have, where the system tells."""
    mine, limit = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")
    if not (mine.is_file() and limit.is_file()):
        return None
    return mine.read_bytes().count(b"\n"), int(limit.read_text())


class Watch:
    """When memory maps were last looked at."""

    looked = -PAUSE


def make_room() -> None:
    """Drop compiled code that nobody runs before the process has more memory maps than it may.

    Every compiled program takes some hundred of them and JAX keeps all; at the limit (65,530 on most Linux
    machines, a hundred different shapes) the process would crash. What is needed again is compiled again.
    """
    if time.monotonic() < Watch.looked + PAUSE:
        return
    Watch.looked = time.monotonic()
    maps = memory_maps()
    if maps is not None and maps[0] > CROWDED * maps[1]:
        import jax

        jax.clear_caches()
