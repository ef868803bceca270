"""Multipath Reliable Connection: what its paper says of failures, at small scale, as figures' scenarios (TOML) with judges beside them."""
