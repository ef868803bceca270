"""References that follow from formulas: `python validation/theory/make.py` writes results.json.

No program is run here. Each function below computes one case's values from the numbers of its scenario, by the formula of
a paper, an RFC or a textbook that its first lines name. There are no repetitions: a formula has no spread.

Columns of tables keep their units: `flow:NAME:received_ps` is in picoseconds. All else is in seconds, bytes and bit/s.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[2] / "python/farloop/studies/validation/references/theory"

PAYLOAD = 1460
WIRE = 1538
"""A full packet on the wire: 1500 B of IP and 38 B of preamble, Ethernet header, FCS and gap."""

ACK = 102
"""An ACK of 64 B of IP on the wire."""

Values = dict[str, float]
CASES: dict[str, tuple[str, Callable[[], Values]]] = {}


def case(name: str, algorithm: str) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
    """Says which case and algorithm a function is for."""

    def add(function: Callable[[], Values]) -> Callable[[], Values]:
        CASES[name] = (algorithm, function)
        return function

    return add


def main() -> None:
    """Writes results.json."""
    lines = []
    for name, (algorithm, function) in CASES.items():
        values = ",\n".join(
            f"   {json.dumps(metric)}: [{float(f'{value:.10g}')!r}]" for metric, value in function().items()
        )
        lines.append(f' "{name}": {{\n  "{algorithm}": {{\n{values}\n  }}\n }}')
    (DIRECTORY / "results.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def time(size: float, rate: float) -> float:
    """Transmission time."""
    return 8 * size / rate


# Paths.

HOPS = [(100e6, 1e-3), (20e6, 3e-3), (50e6, 2e-3)]
"""Rate and delay of the links of path.toml and window.toml; its ACKs are 538 B on the wire."""


def base_rtt(hops: list[tuple[float, float]], ack: float = ACK) -> float:
    """Both transmissions and both propagation delays of every link (RFC 6349, §3.1.1; Kurose and Ross, §1.4)."""
    return sum(time(WIRE, rate) + time(ack, rate) + 2 * delay for rate, delay in hops)


def through(hops: list[tuple[float, float]], packets: list[tuple[float, int]]) -> list[float]:
    """When packets that come at these times, of these sizes, have passed all links, first come, first served."""
    times, sizes = [at for at, _ in packets], [size for _, size in packets]
    for rate, delay in hops:
        free = 0.0
        for k, size in enumerate(sizes):
            free = max(times[k], free) + time(size, rate)
            times[k] = free + delay
    return times


@case("store-and-forward", "fixed")
def store_and_forward() -> Values:
    """Kurose and Ross, Computer Networking, §1.3.1, for links that differ.

    Packets leave the first link back to back, and at link i packet k begins when it is there and packet k - 1 is
    gone. ACKs take the same way back; the last one, of a smaller packet, waits for the one before it.
    """
    sizes = [WIRE] * 50 + [700 + WIRE - PAYLOAD]
    received = through(HOPS, [(0.0, size) for size in sizes])
    finish = through(HOPS[::-1], [(at, 538) for at in received])
    return {
        "flow:f1:received_ps": received[-1] * 1e12,
        "flow:f1:finish_ps": finish[-1] * 1e12,
        "flow:f1:base_rtt_ps": base_rtt(HOPS, 538) * 1e12,
        "ports:tx_bytes:sum": 3 * (50 * WIRE + 778 + 51 * 538),
    }


@case("window-over-round-trip", "fixed")
def window_over_round_trip() -> Values:
    """Five packets a round trip, and nothing waits.

    The slowest link needs 3.1 ms for them (Kurose and Ross, §3.4.2).
    """
    rtt = base_rtt(HOPS, 538)
    return {"throughput:f1": 5 * PAYLOAD * 8 / rtt, "rtt_mean:f1": rtt, "port:sw1->sw2:max_queue_bytes": 4 * WIRE}


# ECN.


def burst(packets: int, fast: float, slow: float) -> list[tuple[int, int]]:
    """A burst that comes at one rate and leaves at another.

    For each packet how many others it finds waiting, and how many it leaves behind when its transmission begins. The
    transmitter's work comes first at equal times.
    """
    arrive = [(k + 1) * time(WIRE, fast) for k in range(packets)]
    depart = [arrive[0] + k * time(WIRE, slow) for k in range(packets)]
    finds = [sum(1 for j in range(k) if depart[j] > arrive[k]) for k in range(packets)]
    leaves = [sum(1 for j in range(k + 1, packets) if arrive[j] <= depart[k]) for k in range(packets)]
    return list(zip(finds, leaves, strict=True))


@case("ecn-arrival", "fixed")
def ecn_arrival() -> Values:
    """DCTCP, SIGCOMM 2010, §3.1: marked is who finds more than K = 20 packets."""
    queue = burst(60, 100e9, 10e9)
    return {
        "flow:f1:marked": sum(1 for finds, _ in queue if finds > 20),
        "queue_max:sw->b": max(finds + 1 for finds, _ in queue[1:]) * WIRE,
    }


@case("ecn-departure", "fixed")
def ecn_departure() -> Values:
    """Wu et al., CoNEXT 2012: marked is who leaves more than K = 20 packets behind, unless it did not wait."""
    return {"flow:f1:marked": sum(1 for _, leaves in burst(60, 100e9, 10e9)[1:] if leaves > 20)}


@case("drop-tail", "fixed")
def drop_tail() -> Values:
    """The same burst where 20 packets may wait: who finds as many is dropped."""
    arrive = [(k + 1) * time(WIRE, 100e9) for k in range(60)]
    free, waiting, dropped = arrive[0], list[float](), 0
    for at in arrive:
        waiting = [begins for begins in waiting if begins > at]
        if len(waiting) == 20:
            dropped += 1
        else:
            begins = max(at, free)
            free = begins + time(WIRE, 10e9)
            if begins > at:
                waiting.append(begins)
    return {"port:sw->b:dropped_limit": dropped, "queue_max:sw->b": 20 * WIRE}


# DCTCP.


@case("dctcp-gain", "dctcp")
def dctcp_gain() -> Values:
    """RFC 8257, §3.3.

    After n windows without marks alpha is (1 - g)^n, and the first mark leaves W (1 - alpha/2).

    Paced at a window per round trip, it grows by one packet in each from 91 on. The first mark is for the packet that
    finds K + 1 waiting: these and itself are in flight beside what the path holds. The window in which that happens
    is over, without marks, when the sender hears of it.
    """
    hops = [(1e9, 1.6e-3), (100e6, 1.6e-3), (1e9, 1.6e-3)]
    pipe = base_rtt(hops) * 100e6 / 8 / WIRE
    top = math.ceil(pipe + 20 + 2)
    alpha = (1 - 1 / 16) ** (top - 91 + 1)
    return {"series:flow/f1:cwnd:max": top * PAYLOAD, "series:flow/f1:cwnd:min": top * (1 - alpha / 2) * PAYLOAD}


@case("dctcp-cycle", "dctcp")
def dctcp_cycle() -> Values:
    """DCTCP, SIGCOMM 2010, §3.3, Eqs. 6 to 10.

    W* = (C RTT + K)/N, alpha = sqrt(2/W*), the queue's amplitude A = N W* alpha/2, its period W* alpha/2 round trips, its
    largest value K + N.
    """
    n, k = 2, 40
    rtt = base_rtt([(10e9, 63e-6), (1e9, 63e-6), (10e9, 63e-6)])
    top = (1e9 * rtt / 8 / WIRE + k) / n
    swing = top * math.sqrt(2 / top) / 2
    return {
        "series:port/left->right:max_queue:max": (k + n) * WIRE,
        "series:port/left->right:queue:mean": (k + n - n * swing / 2) * WIRE,
        "cwnd_mean:f1": (top + 1 - swing / 2) * PAYLOAD,
    }


@case("gemini-queue", "gemini")
def gemini_queue() -> Values:
    """GEMINI, ToN 2022, Eq. 9.

    The smallest queue is K + N h - sqrt(N h F (C RTT + K)), with F = 4 K/(C RTT + K) and h = 1.
    """
    n, k = 2, 40
    pipe = 1e9 * base_rtt([(10e9, 63e-6), (1e9, 63e-6), (10e9, 63e-6)]) / 8 / WIRE
    reduction = 4 * k / (pipe + k)
    return {
        "series:port/left->right:queue:min": (k + n - math.sqrt(n * reduction * (pipe + k))) * WIRE,
        "series:port/left->right:max_queue:max": (k + n) * WIRE,
    }


# Losses.


@case("reno-sawtooth", "reno")
def reno_sawtooth() -> Values:
    """Appenzeller, Keslassy, McKeown, SIGCOMM 2004, §2.

    The window falls from W to W/2 and grows by 1 in each round trip of W/C, as a queue of at least the bandwidth-
    delay product keeps the link busy. So W^2 grows by 2C in a second: a period of 3/8 W^2/C, a mean of 7/9 W.
    """
    pipe = base_rtt([(1e9, 3.3e-3), (50e6, 3.3e-3), (1e9, 3.3e-3)]) * 50e6 / 8 / WIRE
    top = pipe + 82 + 1
    packets = 50e6 / 8 / WIRE
    return {
        "period:f1": 3 / 8 * top**2 / packets,
        "cwnd_mean:f1": 7 / 9 * top * PAYLOAD,
        "series:port/left->right:queue:mean": (7 / 9 * top - pipe) * WIRE,
        "throughput:f1": 50e6 * PAYLOAD / WIRE,
    }


@case("square-root", "reno")
def square_root() -> Values:
    """Mathis et al., CCR 27(3), 1997, Eq.

    3 and Table 1: MSS/RTT 1.31/sqrt(p) for random losses and an ACK for each packet.
    """
    rtt = base_rtt([(1e9, 3.3e-3), (10e9, 3.3e-3), (1e9, 3.3e-3)])
    rate = 1.31 / math.sqrt(0.004) * PAYLOAD / rtt
    return {"flows:delivered_bytes:mean": rate * 60}


@case("cubic-curve", "cubic")
def cubic_curve() -> Values:
    """RFC 9438, Eqs. 1 and 2.

    W(t) = C (t - K)^3 + W_max with K = cbrt(W_max (1 - beta)/C) = 7.2 s.

    From the end of the recovery on, two round trips after the loss. Means over the samples from 2 to 12 s.
    """
    largest, c, beta = 500.0, 0.4, 0.7
    k = math.cbrt((1 - beta) * largest / c)
    begin = 2 * base_rtt([(1e9, 10e-3)] * 3)

    def window(t: float) -> float:
        return (c * math.pow(t - begin - k, 3) + largest) * PAYLOAD

    samples = [window(2 + i / 1000) for i in range(1, 10_001)]
    return {
        "cwnd_mean:f1": sum(samples) / len(samples),
        "series:flow/f1:cwnd:min": samples[0],
        "series:flow/f1:cwnd:max": samples[-1],
    }


def overtaken(sack: bool) -> Values:
    """RFC 5681, §3.2.

    Two duplicate ACKs are no loss, three are.

    The flow of three packets ends with the arrival of its first packet over the long way; that of four with the
    packet that was sent again when the third duplicate ACK came, over the short way.
    """
    t, long, short = time(WIRE, 10e6), 15e-3, 100e-6
    ack = time(ACK + (12 if sack else 0), 10e6)  # RFC 2018, §3: an option of one block, padded by two bytes
    fourth = 4 * t + 2 * t + 3 * short
    again = fourth + 3 * (ack + short) + 3 * (t + short)
    return {
        "flow:two:retransmitted": 0,
        "flow:two:received_ps": (10e-3 + 4 * t + 2 * short + 2 * long) * 1e12,
        "flow:three:retransmitted": 1,
        "flow:three:received_ps": (1.010 + again) * 1e12,
    }


@case("reordering-sack", "reno")
def reordering_sack() -> Values:
    """RFC 6675, §4, with the threshold of RFC 5681."""
    return overtaken(sack=True)


@case("reordering-newreno", "reno")
def reordering_newreno() -> Values:
    """RFC 6582."""
    return overtaken(sack=False)


@case("rto-tcp", "reno")
def rto_tcp() -> Values:
    """RFC 6298, §5.5: the timeout doubles: 0.2, 0.6, 1.4 and, when the link is well, 3.0 s."""
    there = 3 * (time(WIRE, 100e6) + 1e-3)
    return {"flow:f1:timeouts": 4, "flow:f1:received_ps": (0.2 * 15 + there) * 1e12, "flow:f1:packets": 5}


@case("rto-rdma", "fixed")
def rto_rdma() -> Values:
    """The same of RoCE's constant timeout of 1 ms: 1, 3, 7 and 15 ms."""
    there = 3 * (time(WIRE, 100e6) + 10e-6)
    return {"flow:f1:timeouts": 4, "flow:f1:received_ps": (15e-3 + there) * 1e12, "flow:f1:packets": 5}


# Priority flow control.


@case("pfc-pause", "fixed")
def pfc_pause() -> Values:
    """IEEE 802.1Qbb, clause 36, packet by packet.

    A packet beyond ten sends Xoff, ten or fewer send Xon, both take a frame of 84 B and the link's delay, and the
    packet under way is completed. In integers of picoseconds.
    """
    fast, slow, delay, frame = 123_040, 1_230_400, 1_000_000, 84 * 80
    left, sent_at, now, paused, since, total, longest = 500, 0, 0, False, 0, 0, 0
    arrivals: list[int] = []
    signals: list[tuple[int, bool]] = []
    stopped, waiting, busy_until = False, 0, -1
    while True:
        # The next of four things: the port sends, a packet arrives, a signal arrives, the host sends. At equal times in this order.
        moments = [
            (busy_until if waiting else None, 0),
            (arrivals[0] if arrivals else None, 1),
            (signals[0][0] if signals else None, 2),
            (max(sent_at, now) if left and not paused else None, 3),
        ]
        possible = [(moment, what) for moment, what in moments if moment is not None]
        if not possible:
            break
        now, what = min(possible)
        if what == 0:
            waiting -= 1
            busy_until = now + slow
            if stopped and waiting <= 10:
                stopped = False
                signals.append((now + frame + delay, False))
        elif what == 1:
            arrivals.pop(0)
            if waiting == 0 and busy_until <= now:
                busy_until = now + slow
            else:
                waiting += 1
                longest = max(longest, waiting)
                if waiting > 10 and not stopped:
                    stopped = True
                    signals.append((now + frame + delay, True))
        elif what == 2:
            _, begins = signals.pop(0)
            if begins:
                paused, since = True, now
            else:
                paused, total = False, total + now - since
        else:
            left -= 1
            sent_at = now + fast
            arrivals.append(sent_at + delay)
    last = delay + fast + 500 * slow + delay
    return {
        "port:a->sw:paused_ps": total,
        "queue_max:sw->b": longest * WIRE,
        "flow:f1:received_ps": last,
        "ports:dropped_buffer:sum": 0,
    }


@case("pfc-incast", "fixed")
def pfc_incast() -> Values:
    """Each of four hosts sends a quarter of the time.

    Each ingress crosses X = 153.8 kB while it gets C and gives C/4, and does so for the Xoff's way there and the last
    packet's way back: 4 X + 3 C 2d wait in all. Nothing is lost where headroom covers C 2d (Zhu et al., SIGCOMM 2015,
    §4.2).
    """
    rate, delay, run = 100e9, 10e-6, 10e-3
    longest = 4 * 153_800 + 3 * rate * (2 * delay + time(84 + WIRE, rate)) / 8
    sent = rate * (run - delay) / 8 + longest / 2
    return {
        "queue_max:sw->b": longest,
        "ports:paused_ps:sum": (4 * run - time(sent, rate)) * 1e12,
        "flow:f1:delivered_bytes": rate / 4 / 8 * (run - 2 * delay) * PAYLOAD / WIRE,
        "ports:dropped_buffer:sum": 0,
    }


# HPCC.


@case("hpcc-first-round", "hpcc")
def hpcc_first_round() -> Values:
    """HPCC, SIGCOMM 2019, Algorithm 1 and Eqs. 2 to 4, by hand.

    Eight packets leave the slow link back to back, so that its rate is full. The queue grows and falls. The first record
    only stands to be compared with; U begins at 1.
    """
    rate, hops = 5e9, [(12e9, 5e-6), (5e9, 5e-6)]
    t, tau = base_rtt(hops), time(WIRE, 5e9)
    behind = [leaves * WIRE for _, leaves in burst(8, 12e9, 5e9)]
    u = 1.0
    for before, now in pairwise(behind[:5]):
        sample = 1 + min(before, now) / (rate * t / 8)
        u += tau / t * (sample - u)
    window = 12e9 * t / 8 * 0.95 / u + 80
    return {"series:flow/f1:cwnd:max": window * PAYLOAD / WIRE}


def hpcc_load(eta: float, w_ai: float) -> tuple[float, float]:
    """W = W eta/U + W_AI at rest, so that U = eta + N W_AI/(B T); and B T in bytes."""
    product = 100e9 * base_rtt([(100e9, 2e-6)] * 3) / 8
    return eta + 4 * w_ai / product, product


@case("hpcc-utilisation", "hpcc")
def hpcc_utilisation() -> Values:
    """HPCC, SIGCOMM 2019, Eq. 4 at rest, without a queue."""
    load, _ = hpcc_load(0.8, 500)
    return {"series:port/left->right:utilisation:mean": load, "jain": 1.0}


@case("hpcc-queue", "hpcc")
def hpcc_queue() -> Values:
    """The same where the sum of W_AI is more than what eta leaves free: U = 1 + queue/(B T), by Eq. 2."""
    load, product = hpcc_load(0.95, 12_000)
    return {
        "series:port/left->right:queue:mean": (load - 1) * product,
        "series:port/left->right:utilisation:mean": 1.0,
    }


@case("powertcp-queue", "powertcp")
def powertcp_queue() -> Values:
    """PowerTCP, NSDI 2022, §3.3 and Theorem 1: at rest the queue is the sum of the flows' beta."""
    return {"series:port/left->right:queue:mean": 4 * 8000, "series:port/left->right:utilisation:mean": 1.0}


# Paths and queues.


@case("ecmp-flows", "fixed")
def ecmp_flows() -> Values:
    """RFC 2992.

    By a hash each of four paths gets a quarter of the flows; the binomial standard deviation is 2.7 % of it.
    """
    return {f"port:leaf1->spine{i}:packets": 1000 for i in (1, 2, 3, 4)}


@case("ecmp-packets", "fixed")
def ecmp_packets() -> Values:
    """The same of packets; 1.2 %."""
    return {f"port:leaf1->spine{i}:packets": 5000 for i in (1, 2, 3, 4)}


@case("md1", "fixed")
def md1() -> Values:
    """Pollaczek and Khinchine for equal packets.

    A mean wait of rho/(2 (1 - rho)) services. The host's link, ten times as fast, comes first: what waits there does
    not wait later, and both together wait as long as if there were only the slow one (Avi-Itzhak, Management Science
    11(5), 1965).
    """
    arrivals = 0.05 * 10e9 / 8 / PAYLOAD
    slow, fast = time(WIRE, 1e9), time(WIRE, 10e9)

    def wait(service: float) -> float:
        rho = arrivals * service
        return rho / (2 * (1 - rho)) * service

    return {"queue_mean:left->right": arrivals * (wait(slow) - wait(fast)) * WIRE}


# Algorithms that hold a delay or a queue.

TCP_HOPS = [(1e9, 3.3e-3), (100e6, 3.3e-3), (1e9, 3.3e-3)]
FABRIC = [(100e9, 2e-6), (10e9, 2e-6), (100e9, 2e-6)]


@case("vegas-queue", "vegas")
def vegas_queue() -> Values:
    """Brakmo, Peterson, JSAC 1995, §III.

    With alpha = beta each flow keeps alpha packets waiting; three flows, 20 packets.
    """
    rtt = base_rtt(TCP_HOPS) + time(60 * WIRE, 100e6)
    return {"series:port/left->right:queue:mean": 60 * WIRE, "rtt_mean:f1": rtt}


@case("ledbat-target", "ledbat")
def ledbat_target() -> Values:
    """RFC 6817, §2.4.2: a queueing delay of the target."""
    rtt = base_rtt([(1e9, 3.3e-3), (50e6, 3.3e-3), (1e9, 3.3e-3)])
    return {"series:port/left->right:queue:mean": 50e6 * 10e-3 / 8, "rtt_mean:f1": rtt + 10e-3}


@case("swift-target", "swift")
def swift_target() -> Values:
    """Swift, SIGCOMM 2020, Algorithm 1: windows grow below the target and fall above it."""
    return {"series:port/left->right:queue:mean": 10e9 * 50e-6 / 8, "rtt_mean:f1": base_rtt(FABRIC) + 50e-6}


@case("swift-scaling", "swift")
def swift_scaling() -> Values:
    """Swift, SIGCOMM 2020, §3.5.

    Target = base + a/sqrt(W) + b, and four windows fill the bottleneck for as long as the target is.
    """
    a = 100e-6 / (1 / math.sqrt(0.1) - 1 / math.sqrt(100))
    b = -a / math.sqrt(100)
    low, high = 0.1, 100.0
    for _ in range(100):
        window = (low + high) / 2
        target = base_rtt(FABRIC) + 50e-6 + a / math.sqrt(window) + b
        low, high = (window, high) if 4 * window * time(WIRE, 10e9) < target else (low, window)
    return {
        "rtt_mean:f1": target,
        "cwnd_mean:f1": window * PAYLOAD,
        "series:port/left->right:queue:mean": (target - base_rtt(FABRIC)) * 10e9 / 8,
    }


@case("timely-patched", "timely-patched")
def timely_patched() -> Values:
    """Zhu et al., CoNEXT 2016, Theorem 5.

    Delta (1 - w) = R beta w (q - q')/q' with w = 1/2, so that RTT = T_low (1 + delta/(beta R)).
    """
    rtt = 50e-6 * (1 + 10e6 / (0.008 * 5e9))
    base = base_rtt([(10e9, 2e-6)] * 3)
    return {"rtt_mean:f1": rtt, "series:port/left->right:queue:mean": (rtt - base) * 10e9 / 8}


@case("bbr-queue", "bbr")
def bbr_queue() -> Values:
    """draft-cardwell-iccrg-bbr-congestion-control-00, §4.2.3.

    Four flows that each measure what they get while they probe are stopped by their windows only: two bandwidth-delay
    products, and three packets each.
    """
    pipe = base_rtt([(1e9, 3.3e-3), (50e6, 3.3e-3), (1e9, 3.3e-3)]) * 50e6 / 8 / WIRE
    return {"series:port/left->right:queue:mean": (pipe + 12) * WIRE}


if __name__ == "__main__":
    main()
