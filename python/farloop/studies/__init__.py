"""Studies of many runs: reproductions, arenas, sweeps, advice, plans, validation, interference. They return results, and know no view."""
