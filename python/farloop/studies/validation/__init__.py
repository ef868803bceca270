"""Whether to believe the simulator: its runs beside references that others made, and beside itself under changes that must not matter."""
