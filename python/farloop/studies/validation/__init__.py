"""Validation of the simulator: its runs beside others' references, and beside its own runs under changes that must not matter."""
