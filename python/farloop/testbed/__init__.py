"""Scenarios on this host's Linux kernel: real TCP in network namespaces, measured as simulations are."""

PARTS = ("simulated", "measured")
"""The directories of a figure that was simulated and measured; each is an output of its own."""
