"""The version, alone so that every room can read it."""

__all__ = ["__version__"]

__version__ = "0.9.0"
