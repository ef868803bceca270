"""Uno: each figure's scenario (TOML) with its judge and picture beside it."""
