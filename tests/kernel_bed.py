"""A sender, a switch and a receiver out of network namespaces, with real TCP between them. Everything in it is called farloop-test-…."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PREFIX = "farloop-test-"
SIDES = ("a", "r", "b")
RECEIVER = "10.213.2.2"
# Shared processors leave an ordinary process waiting for longer than the whole queue lasts.
PRIORITY = ["chrt", "--fifo", "10"]
TOOLS = ("ip", "tc", "nsenter", "sysctl", "ethtool", "iperf3", "clang", "chrt", "unshare")


def missing_tools():
    return [name for name in TOOLS if shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None]


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr or done.stdout}"
    return done.stdout


def inside(side, *words):
    return ["nsenter", f"--net=/run/netns/{PREFIX}{side}", *map(str, words)]


def namespaces():
    """Those of the tests."""
    return sorted(line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith(PREFIX))


def remove():
    """Takes away what an earlier test, killed perhaps, has left."""
    for name in namespaces():
        for pid in run("ip", "netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        run("ip", "netns", "del", name)


def compiled(folder, threshold, drop):
    """The switch program that marks beyond so many bytes, and drops the so-manyth large packet."""
    target = folder / "mark.bpf.o"
    source = ROOT / "linux" / "testbed" / "mark.bpf.c"
    flags = ["-mcpu=v3", "-O2", "-g", f"-DTHRESHOLD={threshold}", *([f"-DDROP={drop}"] if drop else [])]
    run("clang", "-target", "bpf", *flags, "-c", source, "-o", target)
    return target


@contextlib.contextmanager
def bed(folder, *, rate_mbps, threshold, control, drop=0):
    """Two links and a switch that forwards at a rate and marks beyond `threshold` bytes; `control` is at both ends."""
    remove()
    try:
        for side in SIDES:
            run("ip", "netns", "add", PREFIX + side)
            run("ip", "-n", PREFIX + side, "link", "set", "lo", "up")
        for side, network in (("a", 1), ("b", 2)):
            here, there = f"farloop-{side}", f"farloop-r{side}"
            peer = ["peer", "name", there, "netns", PREFIX + "r"]
            run("ip", "link", "add", here, "netns", PREFIX + side, "type", "veth", *peer)
            for namespace, device, host in ((side, here, 2), ("r", there, 1)):
                run("ip", "-n", PREFIX + namespace, "addr", "add", f"10.213.{network}.{host}/24", "dev", device)
                run("ip", "-n", PREFIX + namespace, "link", "set", device, "up")
                # One packet is one packet.
                run(*inside(namespace, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off"))
            run("ip", "-n", PREFIX + side, "route", "add", "default", "via", f"10.213.{network}.1")
            settings = [f"net.ipv4.tcp_congestion_control={control}", "net.ipv4.tcp_no_metrics_save=1"]
            run(*inside(side, "sysctl", "-qw", *settings))
        run(*inside("r", "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        port, tc = ["dev", "farloop-rb"], ["tc", "-n", PREFIX + "r"]
        # A burst of two milliseconds: kernels wake up no more often.
        shape = ["rate", f"{rate_mbps}mbit", "burst", rate_mbps * 250, "limit", 400_000]
        run(*tc, "qdisc", "add", *port, "root", "tbf", *shape)
        run(*tc, "qdisc", "add", *port, "clsact")
        program = ["bpf", "direct-action", "object-file", compiled(folder, threshold, drop), "section", "tc"]
        # tc mounts bpffs where there is none: in a mount namespace of its own it takes that away with it.
        run(*inside("r", "unshare", "--mount", "tc", "filter", "add", *port, "egress", *program))
        yield
    finally:
        remove()


def flows(seconds, *, streams=2, control=None, options=(), during=lambda: None):
    """Bulk flows from a to b, whose sending side uses `control`: iperf3's report. `during` is called in the middle."""
    server = subprocess.Popen(inside("b", *PRIORITY, "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        words = [
            "iperf3",
            "-c",
            RECEIVER,
            "-t",
            seconds,
            "-P",
            streams,
            "-i",
            "0.1",
            "-J",
            *(["-C", control] if control else []),
            *options,
        ]
        client = subprocess.Popen(inside("a", *PRIORITY, *words), stdout=subprocess.PIPE, text=True)
        try:
            time.sleep(seconds / 2)
            during()
            report = json.loads(client.communicate(timeout=seconds + 20)[0])
        finally:
            client.kill()
    finally:
        server.kill()
        server.wait()
    assert "error" not in report, report["error"]
    return report
