"""What a run gave: its tables, and every number that is taken from them."""
