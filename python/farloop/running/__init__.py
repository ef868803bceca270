"""Running simulations: side by side, in threads, with progress, repeated with variations."""
