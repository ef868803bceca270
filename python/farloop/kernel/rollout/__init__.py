"""Rollouts of a congestion control on this host: choose connections, widen in steps, watch, take back (docs/rollout.md)."""
