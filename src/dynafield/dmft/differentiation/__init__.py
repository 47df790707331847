"""Derivatives of solutions: tangents carried along with a march, for records and for JAX."""
