"""How many random cases a property is tried with."""

import os

VARIABLE = "FARLOOP_CASES"
"""`full` for as many as a test names, or a number. Without it a quarter of them, which is enough while one works."""


def cases(full: int) -> int:
    """How many of `full` cases to try: at least one."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen == "full":
        return full
    if not chosen:
        return max(1, full // 4)
    if not chosen.isdecimal() or not int(chosen):
        raise ValueError(f"{VARIABLE}: {chosen}: expected full, or a whole number from 1 on")
    return int(chosen)
