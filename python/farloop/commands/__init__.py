"""What the command line does: one file for each group of commands."""
