"""Faults and interrupts at every point of an inference and of a compilation, see `python -m tests.faults --help`."""
