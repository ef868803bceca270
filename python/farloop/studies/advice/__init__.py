"""Advice on what should run between my sites: candidates race on a scenario, the best are tuned and tried elsewhere."""
