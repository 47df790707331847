"""Malformed and extreme calls over the whole public interface: what is refused, and in which words.

`python -m benchmarks.attack [part of a name] [--malformed | --extreme] [--list]` prints a table of verdicts,
and with --list every extreme call, and every malformed one that was not refused with the argument named.
Calls run in a process of their own, with a limit of time and memory for each; one that hangs is stopped, and
the next begins in a fresh process. All of them take half an hour or more.
"""

import argparse
import contextlib
import io
import multiprocessing
import resource
import time
import warnings
from collections import Counter
from typing import Any, NamedTuple

LIMIT = 120.0
"""Seconds a call may take; most take none."""
MEMORY = 12e9
"""Bytes of address space of the process that calls."""
REFUSED, ANSWERED, ACCEPTED, WORDS, SLOW, CRASHED = (
    "refused, argument named", "answered", "accepted", "wrong words", "too slow", "process died",
)  # fmt: skip


class Verdict(NamedTuple):
    """What became of a call: verdict, seconds, and what it said."""

    kind: str
    seconds: float
    said: str


def judged(case: Any, extreme: bool) -> Verdict:
    """Run a call and judge it."""
    from dynafield.errors import FileError, InputError, SolveError

    began = time.monotonic()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            result = case.run()
        kind, said = (ANSWERED if extreme else ACCEPTED), type(result).__name__
    except (InputError, FileError) as error:
        kind, said = (REFUSED if case.named_in(str(error)) else WORDS), f"{type(error).__name__}: {error}"
    except SolveError as error:
        kind, said = (ANSWERED if extreme else WORDS), f"SolveError: {error}"
    except Exception as error:
        kind, said = WORDS, f"{type(error).__name__}: {error}"
    return Verdict(kind, time.monotonic() - began, said[:300])


def serve(pipe: Any) -> None:
    """In a process of its own: judge calls by number until told to end."""
    resource.setrlimit(resource.RLIMIT_AS, (int(MEMORY), int(MEMORY)))
    known = everything()
    pipe.send("ready")
    while True:
        number = pipe.recv()
        if number is None:
            return
        pipe.send(judged(*known[number]))


def everything() -> list[tuple[Any, bool]]:
    """All calls, each with whether it is extreme but well formed."""
    from benchmarks.extremes import extremes
    from benchmarks.malformed import cases
    from benchmarks.malformed_commands import more_cases

    return [(one, False) for one in (*cases(), *more_cases())] + [(one, True) for one in extremes()]


class Caller:
    """A process that judges calls, replaced when it hangs or dies."""

    def __init__(self):
        self.context = multiprocessing.get_context("spawn")
        self.start()

    def start(self) -> None:
        """A fresh process."""
        self.pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        if not self.pipe.poll(300):
            raise RuntimeError("the process that calls does not start")
        self.pipe.recv()

    def ask(self, number: int) -> Verdict:
        """The verdict on one call."""
        self.pipe.send(number)
        try:
            if self.pipe.poll(LIMIT):
                return self.pipe.recv()
            verdict = Verdict(SLOW, LIMIT, f"not over after {LIMIT:g} s")
        except EOFError:
            verdict = Verdict(CRASHED, 0.0, f"exit code {self.process.exitcode}")
        self.process.kill()
        self.process.join()
        self.start()
        return verdict

    def end(self) -> None:
        """No more calls."""
        self.pipe.send(None)
        self.process.join(10)


def attack(part: str = "", wanted: tuple[bool, ...] = (False, True), tell: bool = False) -> list[Any]:
    """All calls whose name has this part, with their verdicts; `wanted` chooses malformed or extreme ones."""
    caller, found = Caller(), []
    try:
        for number, (case, extreme) in enumerate(everything()):
            if part not in f"{case.call}.{case.argument}" or extreme not in wanted:
                continue
            verdict = caller.ask(number)
            found.append((case, extreme, verdict))
            if tell and (extreme or verdict.kind not in (REFUSED, ANSWERED)):
                told = f"{case.call}({case.argument}={case.words}): {verdict.said!r}"
                print(f"{verdict.kind}, {verdict.seconds:.1f} s: {told}", flush=True)
    finally:
        caller.end()
    return found


def table(found: list[tuple[Any, bool, Verdict]]) -> str:
    """Verdicts counted."""
    lines = ["| calls | " + " | ".join((REFUSED, ANSWERED, ACCEPTED, WORDS, SLOW, CRASHED)) + " |"]
    lines.append("|---" * 7 + "|")
    for words, wanted in (("malformed", False), ("extreme", True)):
        counts = Counter(verdict.kind for _, extreme, verdict in found if extreme == wanted)
        numbers = [counts[kind] for kind in (REFUSED, ANSWERED, ACCEPTED, WORDS, SLOW, CRASHED)]
        lines.append(f"| {words} ({sum(counts.values())}) | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join(lines)


def section() -> str:
    """The table as a section of the page of benchmarks."""
    words = (
        "Every argument of the public interface, given values of the wrong type, range, size and shape, one at "
        "a time; and well-formed calls with extreme numbers, which must be answered or refused. A call may "
        f"take {LIMIT:g} s. `python -m benchmarks.attack --list` names those that fail."
    )
    return f"## Malformed and extreme calls\n\n{words}\n\n{table(attack())}\n"


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and what is not as it should be."""
    parser = argparse.ArgumentParser("python -m benchmarks.attack", description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="only calls whose CALL.ARGUMENT has this part")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--malformed", action="store_true", help="malformed calls only")
    which.add_argument("--extreme", action="store_true", help="well-formed calls with extreme numbers only")
    parser.add_argument("--list", action="store_true", help="print the calls, one by one")
    given = parser.parse_args(arguments)
    wanted = (False,) if given.malformed else (True,) if given.extreme else (False, True)
    found = attack(given.part, wanted, given.list)
    slowest = sorted(found, key=lambda one: -one[2].seconds)[:5]
    for case, _, verdict in slowest:
        print(f"{verdict.seconds:.1f} s: {case.call}({case.argument}={case.words}): {verdict.kind}")
    print(table(found))


if __name__ == "__main__":
    main()
