"""Scenarios on this host's Linux kernel: real TCP in network namespaces, measured as simulations are."""
