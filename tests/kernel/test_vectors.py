"""The recorded behaviour of GEMINI, replayed by an implementation written from `vectors/README.md` alone."""

import json
from pathlib import Path

from support.gemini_vectors import Gemini

VECTORS = Path(__file__).parents[2] / "vectors" / "gemini.jsonl"


def test_another_implementation_gives_the_same_numbers() -> None:
    lines = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    assert lines[0] == {"format": "farloop gemini vectors", "version": 4}
    flow = None
    for number, event in enumerate(lines[1:], start=2):
        if event["event"] == "start":
            flow = Gemini(event)
        assert flow is not None
        flow.play(event)
        expected = {key: event[key] for key in flow.state()}
        assert flow.state() == expected, f"line {number}: {event}"
