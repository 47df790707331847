"""`python -m dynafield.cli`, where the console script is not on the path."""

from dynafield.cli.main import run

__all__ = ["run"]

if __name__ == "__main__":
    run()
