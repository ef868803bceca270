"""What should run between my sites: candidates raced on a scenario, the best tuned and tried elsewhere, an answer in a page."""
