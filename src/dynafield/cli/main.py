"""The command `dynafield`, made of the commands that other modules define."""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dynafield.cli.curves import compare, simulate, solve
from dynafield.cli.interrupts import answered_at_once
from dynafield.cli.options import tell_new_name
from dynafield.cli.own_data import fit
from dynafield.cli.studies import reproduce, sweep
from dynafield.cli.theory import convergence_rate, fixed_point, optimize, phases
from dynafield.compiled import keep_compiled_code
from dynafield.errors import FileError, InputError, SolveError
from dynafield.version import __version__

__all__ = ["app", "guarded", "run"]

OLD_NAMES = {"limit": "fixed-point", "rate": "convergence-rate"}
"""Commands that were renamed after the functions that they call, by their old names."""


class Commands(TyperGroup):
    """Commands by name; the old names work on, and no help shows them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and further arguments, from all arguments."""
        if args and args[0] in OLD_NAMES:
            tell_new_name(args[0], OLD_NAMES[args[0]])
            args = [OLD_NAMES[args[0]], *args[1:]]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Exact learning curves of gradient training in the high-dimensional limit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def show_version(wanted: bool) -> bool:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"dynafield {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options that belong to no command."""


def explore(
    port: Annotated[int, typer.Option("--port", help="Port of the page; 0 for any that is free.")] = 5006,
    address: Annotated[
        str, typer.Option("--address", help="Where to serve; only this machine can reach 127.0.0.1.")
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            "--host-name", help="NAME:PORT in the browser's address, if not that of the server; repeatable."
        ),
    ] = None,
) -> None:
    """Open a page on which curves, phases and fixed points follow the sliders."""
    from importlib.util import find_spec

    if find_spec("panel") is None:
        raise InputError("explore needs panel and bokeh: pip install 'dynafield[explorer]'")
    from dynafield.explorer.server import explore as serve

    serve(port, not no_browser, address, lambda line: typer.echo(line, err=True), host_name or ())


COMMANDS = (
    solve,
    compare,
    fixed_point,
    convergence_rate,
    optimize,
    phases,
    simulate,
    fit,
    sweep,
    reproduce,
    explore,
)
"""In the order in which `dynafield --help` lists them."""

for one in COMMANDS:
    app.command()(one)


def guarded(command: Callable[[], None]) -> int:
    """Run a command; exit status 2 for bad input, 1 for a numerical failure, 130 for Ctrl-C."""
    try:
        with answered_at_once():
            command()
    except (InputError, FileError) as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    except SolveError as error:
        typer.echo(f"error: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        return 130
    return 0


def run() -> None:
    """The console script."""
    keep_compiled_code()
    sys.exit(guarded(app))
