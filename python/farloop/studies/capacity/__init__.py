"""The least network that carries a workload: a search over numbers of links, rates, buffers and distances (`farloop plan`)."""
