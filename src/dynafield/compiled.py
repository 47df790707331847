"""Compiled code, kept between commands. Nothing here imports JAX, which reads its environment only once."""

import hashlib
import os
import platform
from pathlib import Path

__all__ = ["keep_compiled_code", "processor"]


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
