"""A new process for which nothing was compiled before."""

import os
import subprocess
import sys
import time

__all__ = ["fresh"]


def fresh(code):
    """Seconds that a new process takes for some Python code, import and compilation included."""
    environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    environment["DYNAFIELD_KEEP_COMPILED"] = "0"  # or code of an earlier run would be used
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
