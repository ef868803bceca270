"""Results of runs: their tables, and every number that is taken from them."""
