"""Algorithms in the Linux kernel that runs: what they need, loading, taking away, and what they do (docs/kernel.md)."""
