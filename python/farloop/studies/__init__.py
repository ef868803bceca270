"""Studies of many runs: reproductions, arenas, sweeps, advice, validation, interference. They return results; commands call the views."""
