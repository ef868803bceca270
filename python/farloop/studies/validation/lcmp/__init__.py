"""The public completion times of LCMP's simulator, over links of 1 to 10 ms between 13 sites: what it ran, and farloop beside it."""
