"""Result directories: files, not views. They are written aside and renamed, so that a killed run never looks complete."""
