"""Makes `vectors/nscc.jsonl` from traces of uet-htsim: what NSCC heard, and the window that it made of it.

    python validation/uet-htsim/trace.py TRACE... > vectors/nscc.jsonl

A TRACE is what a program prints whose `uec.cpp` a user has changed to print one line, in numbers between spaces, for one flow:

    A now raw_rtt ecn_echo newly_recvd_bytes in_flight cwnd base_rtt average    after updateCwndOnAck
    N now raw_rtt 0 pkt_size in_flight cwnd base_rtt average                    after updateCwndOnNack; in_flight from before
    T now 0 0 pkt_size in_flight cwnd base_rtt average                          after mark_packet_for_retransmission

Times are picoseconds, sizes bytes with headers; raw_rtt is 0 where the ACK is no sample. Before them stands a line

    S rate mss packet base_rtt network_rtt cwnd name

with the rate in bit/s, and the window to begin with.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

EVENTS = {"A": "ack", "N": "trimmed", "T": "timeout"}


def line_of(words: list[str]) -> dict[str, object]:
    """One line of the trace as one of the vectors."""
    if words[0] == "S":
        keys = ("rate", "mss", "packet", "base_rtt", "network_rtt", "cwnd")
        numbers = dict(zip(keys, map(int, words[1:7]), strict=True))
        return {"event": "start", "flow": " ".join(words[7:]), **numbers}
    now, rtt, marked, size, in_flight, cwnd = map(int, words[1:7])
    line: dict[str, object] = {"event": EVENTS[words[0]], "t": now, "bytes": size, "rtt": rtt or None}
    if words[0] == "A":
        line["marked"] = bool(marked)
    return {**line, "in_flight": max(in_flight, 0), "cwnd": cwnd}


def main() -> None:
    """Prints the vectors."""
    sys.stdout.write(json.dumps({"format": "farloop nscc vectors", "version": 1}, separators=(",", ":")) + "\n")
    for name in sys.argv[1:]:
        for text in Path(name).read_text().splitlines():
            words = text.split()
            if words and words[0] in {"S", *EVENTS}:
                sys.stdout.write(json.dumps(line_of(words), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
