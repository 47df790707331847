"""Finite networks, trained for real."""
