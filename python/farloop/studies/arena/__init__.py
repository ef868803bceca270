"""Every algorithm in the cross-datacenter scenarios of all papers, side by side."""
