"""Compiled code: kept between processes, dropped when there is too much of it in a process.

Nothing here imports JAX before it is needed: it reads its environment only once.
"""

import hashlib
import logging
import os
import platform
import sys
import time
from pathlib import Path

from dynafield.folders import make_private, trouble

__all__ = ["keep_compiled_code", "make_room", "memory_maps", "processor"]

CROWDED = 0.4
"""Fraction of the memory maps allowed to a process beyond which its compiled code is dropped."""
LONG = 0.2
"""Seconds of compilation from which code is worth keeping."""
X86 = ("x86_64", "amd64")
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
    """Let JAX keep compiled code between processes, in one folder for each kind of processor.

    Settings of the user are respected; DYNAFIELD_KEEP_COMPILED=0 keeps nothing, and nothing is kept in a
    folder that others could write to. XLA reports every reuse on stderr as a possible mismatch; the folder's
    name excludes that, so its log is turned down. Where JAX was imported before, it is too late for that:
    then code is kept only if the log is quiet.
    """
    if os.environ.get("DYNAFIELD_KEEP_COMPILED") == "0" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = own_folder(processor())
    if folder is None:
        return
    if "jax" in sys.modules:
        settings = sys.modules["jax"].config
        if settings.jax_compilation_cache_dir is None and quiet():
            settings.update("jax_compilation_cache_dir", folder)
            settings.update("jax_persistent_cache_min_compile_time_secs", LONG)
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", str(LONG))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def quiet() -> bool:
    """Whether XLA is silent when code is used again: on x86 by its log level, elsewhere always."""
    return platform.machine().lower() not in X86 or os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") >= "3"


def own_folder(name: str) -> str | None:
    """A folder in the user's cache that nobody else can write to; None if there can be none."""
    folder = None
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = root / "dynafield" / name
        if not root.is_absolute():
            return None
        make_private(folder)
        wrong = trouble(folder)
    except (OSError, RuntimeError) as error:  # a disk that is full or read only, no home
        wrong = str(error)
    if wrong:
        logging.getLogger(__name__).info("compiled code is not kept: %s", wrong)
    return None if wrong else str(folder)


def memory_maps() -> tuple[int, int] | None:
    """Numbers of memory maps that this process has and may have, if the system knows them."""
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
