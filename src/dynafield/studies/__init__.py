"""Studies of many problems at once, which may use several engines."""
