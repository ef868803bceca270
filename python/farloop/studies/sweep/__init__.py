"""Studies: many runs over settings, algorithms and seeds; which there are, where they run, what is measured of them, what it says."""
