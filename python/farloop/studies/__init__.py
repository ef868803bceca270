"""Studies of many runs: reproductions, arenas, sweeps, advice, plans, validation, interference. They return results; commands call the views."""
