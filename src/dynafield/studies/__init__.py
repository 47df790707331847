"""Many problems at once; the only room, with the doors, that may use several engines."""
