"""Files of others as they come in: networks, flow lists, traces, and TOML as people write it."""
