"""The command line: a thin door. Engines are imported only when a command runs."""
