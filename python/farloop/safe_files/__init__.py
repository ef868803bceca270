"""Files and names from outside: opened, written and followed so that hostile ones do no harm."""
