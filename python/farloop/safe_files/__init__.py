"""Files and names from outside: opened, written and followed so that nobody can be hurt by what they are."""
