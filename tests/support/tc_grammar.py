"""A parser of the `tc` lines that `farloop netem` prints, by iproute2's grammar.

Its sources are tc-netem(8), tc-tbf(8), tc-red(8), and the parsers of these
qdiscs (`tc/q_netem.c`, `tc/q_tbf.c`, `tc/q_red.c`, `tc/tc_util.c`). It takes what `tc` takes of it, and refuses the rest.
"""

import math
import re
import shlex

TIMES = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "msecs": 1e-3,
    "us": 1e-6,
    "usec": 1e-6,
    "usecs": 1e-6,
}
RATES = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12, "bps": 8, "kbps": 8e3, "mbps": 8e6, "gbps": 8e9}
SIZES = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2, "kbit": 125, "mbit": 125_000}
U32 = 2**32 - 1


class RefusedError(ValueError):
    """`tc` would not take the line."""


class Words:
    """What is left of a line."""

    def __init__(self, line):
        self.words = shlex.split(line)

    def take(self, what):
        if not self.words:
            raise RefusedError(f"no {what}")
        return self.words.pop(0)

    def expect(self, *those):
        word = self.take(those[0])
        if word not in those:
            raise RefusedError(f"{word} where {those} are expected")
        return word

    def next(self):
        return self.words[0] if self.words else ""

    def number(self, what, parse):
        return parse(self.take(what))

    def maybe(self, parse):
        """`NEXT_IS_NUMBER` and signed ones: a word that begins as a number does."""
        if re.match(r"-?[0-9.]", self.next()):
            return parse(self.take("number"))
        return None


def quantity(text, units, what):
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)([a-z]*)", text, re.IGNORECASE)
    if not match or match[2].lower() not in units:
        raise RefusedError(f"{text} is no {what}")
    return float(match[1]) * units[match[2].lower()]


def time(text):
    """`get_time`; a number alone is in us. Kernels take up to 2^63 ns, older ones 2^32 ticks of 64 ns."""
    seconds = quantity(text, TIMES | {"": 1e-6}, "time")
    if seconds * 1e9 / 64 > U32:
        raise RefusedError(f"{text} is too long")
    return seconds


def rate(text):
    return quantity(text, RATES | {"": 1}, "rate")


def size(text):
    value = quantity(text, SIZES, "size")
    if value > U32:
        raise RefusedError(f"{text} is too large")
    return int(value)


def whole(text):
    if not re.fullmatch(r"[0-9]+", text) or int(text) > U32:
        raise RefusedError(f"{text} is no number of 32 bits")
    return int(text)


def percent(text):
    """`parse_percent`: with or without the sign; kept as a part of 2^32."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)%?", text, re.IGNORECASE)
    if not match or not 0 <= float(match[1]) <= 100:
        raise RefusedError(f"{text} is no percentage")
    return float(match[1]) / 100


def part(text):
    value = float(text)
    if not 0 <= value <= 1:
        raise RefusedError(f"{text} is no probability")
    return value


def handle(text):
    if not re.fullmatch(r"[0-9a-f]{1,4}:[0-9a-f]{0,4}", text):
        raise RefusedError(f"{text} is no handle")
    return text


def netem(words):
    options = {"limit": 1000}
    while words.next():
        word = words.take("option")
        if word == "limit":
            options["limit"] = words.number("limit", whole)
        elif word in ("delay", "latency"):
            options["delay"] = words.number("delay", time)
            options["jitter"] = words.maybe(time)
            words.maybe(percent)
        elif word in ("loss", "drop"):
            if words.next() == "gemodel":
                words.take("model")
                parts = [words.number("p", percent)]
                while (more := words.maybe(percent)) is not None:
                    parts.append(more)
                if len(parts) > 4:
                    raise RefusedError("a gemodel has up to four numbers")
                options["gemodel"] = tuple(parts)
            else:
                if words.next() == "random":
                    words.take("model")
                options["loss"] = words.number("loss", percent)
                words.maybe(percent)
        elif word == "corrupt":
            options["corrupt"] = words.number("corrupt", percent)
            words.maybe(percent)
        elif word == "rate":
            options["rate"] = words.number("rate", rate)
            options["overhead"] = words.maybe(whole)
        else:
            raise RefusedError(f"netem has no {word}")
    if options.get("jitter") and "delay" not in options:
        raise RefusedError("jitter needs a delay")
    return options


def tbf(words):
    options = {}
    known = {"rate": rate, "burst": size, "buffer": size, "limit": size, "latency": time, "overhead": whole}
    while words.next():
        word = words.take("option")
        if word not in known or word in options:
            raise RefusedError(f"tbf: {word}")
        options[word] = words.number(word, known[word])
    if not {"rate", "burst"} <= options.keys() or ("limit" in options) == ("latency" in options):
        raise RefusedError("tbf needs rate, burst, and limit or latency")
    return options


def red(words):
    options = {"probability": 0.02}
    known = {
        "limit": size,
        "min": size,
        "max": size,
        "avpkt": size,
        "burst": whole,
        "bandwidth": rate,
        "probability": part,
    }
    while words.next():
        word = words.take("option")
        if word in ("ecn", "harddrop", "nodrop", "adaptive"):
            options[word] = True
        elif word in known:
            options[word] = words.number(word, known[word])
        else:
            raise RefusedError(f"red has no {word}")
    if not {"limit", "avpkt"} <= options.keys():
        raise RefusedError("red needs limit and avpkt")
    # `tc_red_eval_P` and `tc_red_eval_ewma`.
    if options["max"] <= options["min"] or options["max"] > options["limit"]:
        raise RefusedError("red: min < max <= limit")
    if options["burst"] + 1 - options["min"] / options["avpkt"] < 1:
        raise RefusedError("red: failed to calculate EWMA constant")
    options["wlog"] = next(
        wlog
        for wlog in range(1, 32)
        if options["burst"] + 1 - options["min"] / options["avpkt"]
        <= (1 - math.pow(1 - 0.5**wlog, options["burst"])) / 0.5**wlog
    )
    return options


QDISCS = {"netem": netem, "tbf": tbf, "red": red}


def parse(line):
    """Action, device, where it hangs, handle, kind and options of a line `tc qdisc …`."""
    words = Words(line)
    words.expect("tc")
    words.expect("qdisc")
    action = words.expect("add", "replace", "change")
    words.expect("dev")
    device = words.take("device")
    if len(device) > 15:
        raise RefusedError(f"{device} is too long")
    place = words.expect("root", "parent")
    parent = "root" if place == "root" else handle(words.take("parent"))
    own = ""
    if words.next() == "handle":
        words.take("handle")
        own = handle(words.take("handle"))
    kind = words.take("qdisc")
    if kind not in QDISCS:
        raise RefusedError(f"there is no qdisc {kind}")
    return action, device, parent, own, kind, QDISCS[kind](words)
