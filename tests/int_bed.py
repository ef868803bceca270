"""A sender, a switch that writes telemetry and a receiver out of network namespaces, with delay lines for the ACKs.

Two round-trip times through one port: the receiver reaches each of the sender's two addresses through a delay line of its own.
Everything in it is called farloop-int-….
"""

import contextlib
import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from farloop.kernel import telemetry
from farloop.kernel.gear import GEAR

ROOT = Path(__file__).parents[1]
PREFIX = "farloop-int-"
SIDES = ("a", "r", "b")
RECEIVER = "10.214.2.2"
INTRA, CROSS = "10.214.1.2", "10.214.1.3"
# Shared processors leave an ordinary process waiting for longer than the whole queue lasts.
PRIORITY = ["chrt", "--fifo", "10"]
PUNCTUAL = ["chrt", "--fifo", "30"]
TOOLS = ("ip", "tc", "nsenter", "sysctl", "ethtool", "iperf3", "clang", "chrt", "unshare", "cc", "nstat")
CHECKSUMS = ("TcpInCsumErrors", "IpInHdrErrors", "TcpInErrs")


@dataclass
class Bed:
    """What a test looks at: the cgroup, a folder, and what the delay lines say at the end."""

    cgroup: Path
    folder: Path
    lines: list[str] = field(default_factory=list)


def missing_tools():
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in TOOLS if shutil.which(name, path=path) is None]


def hierarchy():
    """Where cgroup v2 is mounted, or None."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    return None


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr or done.stdout}"
    return done.stdout


def inside(side, *words):
    return ["nsenter", f"--net=/run/netns/{PREFIX}{side}", *map(str, words)]


def namespaces():
    return sorted(line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith(PREFIX))


def remove():
    """Takes away what an earlier test, killed perhaps, has left."""
    for name in namespaces():
        for pid in run("ip", "netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        run("ip", "netns", "del", name)
    if (top := hierarchy()) and (group := top / f"{PREFIX}test").is_dir():
        deadline = time.monotonic() + 5
        while True:
            try:
                group.rmdir()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


def write_telemetry(folder, side, device, rate_mbps, hop):
    """Has a port write its entry into what leaves by it."""
    switch = folder / f"telemetry{hop}.bpf.o"
    flags = ["-mcpu=v3", "-O2", "-g", f"-DRATE_MBPS={rate_mbps}", f"-DHOP={hop}"]
    run("clang", "-target", "bpf", *flags, "-c", ROOT / "linux" / "testbed" / "telemetry.bpf.c", "-o", switch)
    run("tc", "-n", PREFIX + side, "qdisc", "add", "dev", device, "clsact")
    program = ["bpf", "direct-action", "object-file", switch, "section", "tc"]
    # tc mounts bpffs where there is none: in a mount namespace of its own it takes that away with it.
    run(*inside(side, "unshare", "--mount", "tc", "filter", "add", "dev", device, "egress", *program))


@contextlib.contextmanager
def bed(folder, *, rate_mbps, delays_us, control, limit=400_000, timestamps=True, two_hops=False):
    """Two links, a switch that forwards at a rate, and delay lines for the ACKs to the sender's two addresses.

    With `two_hops` the sender's own port writes as well, which has no queue.
    """
    remove()
    group = hierarchy() / f"{PREFIX}test"
    delay = folder / "delay"
    run("cc", "-O2", "-o", delay, ROOT / "linux" / "testbed" / "delay.c")
    lines = []
    try:
        group.mkdir()
        telemetry.attach(group)
        for side in SIDES:
            run("ip", "netns", "add", PREFIX + side)
            run("ip", "-n", PREFIX + side, "link", "set", "lo", "up")
            run(*inside(side, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"))
        for side, network in (("a", 1), ("b", 2)):
            here, there = f"farint-{side}", f"farint-r{side}"
            peer = ["peer", "name", there, "netns", PREFIX + "r"]
            run("ip", "link", "add", here, "netns", PREFIX + side, "type", "veth", *peer)
            for namespace, device, host in ((side, here, 2), ("r", there, 1)):
                run("ip", "-n", PREFIX + namespace, "addr", "add", f"10.214.{network}.{host}/24", "dev", device)
                run("ip", "-n", PREFIX + namespace, "link", "set", device, "up")
                # One packet is one packet.
                run(*inside(namespace, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off"))
                run("ip", "-n", PREFIX + namespace, "link", "set", device, "gso_max_segs", 1)
            run("ip", "-n", PREFIX + side, "route", "add", "default", "via", f"10.214.{network}.1")
            settings = [
                f"net.ipv4.tcp_congestion_control={control}",
                "net.ipv4.tcp_no_metrics_save=1",
                f"net.ipv4.tcp_timestamps={int(timestamps)}",
                "net.ipv4.tcp_rmem=4096 1000000 16000000",
                "net.ipv4.tcp_wmem=4096 1000000 16000000",
            ]
            run(*inside(side, "sysctl", "-qw", *settings))
        run("ip", "-n", PREFIX + "a", "addr", "add", f"{CROSS}/24", "dev", "farint-a")
        run(*inside("r", "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        # A burst of two milliseconds: kernels wake up no more often.
        shape = ["rate", f"{rate_mbps}mbit", "burst", rate_mbps * 250, "limit", limit]
        run("tc", "-n", PREFIX + "r", "qdisc", "add", "dev", "farint-rb", "root", "tbf", *shape)
        write_telemetry(folder, "r", "farint-rb", rate_mbps, 1)
        if two_hops:
            write_telemetry(folder, "a", "farint-a", 10_000, 2)
        for address, delay_us, name in zip((INTRA, CROSS), delays_us, ("farint-d1", "farint-d2"), strict=True):
            sides = [f"/run/netns/{PREFIX}{side}" for side in "br"]
            words = [*PUNCTUAL, delay, *sides, name, delay_us]
            line = subprocess.Popen([str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            lines.append(line)
            assert line.stdout.readline() == "ready\n"
            for side in "br":
                run("ip", "-n", PREFIX + side, "link", "set", name, "up", "txqueuelen", 10_000)
            run("ip", "-n", PREFIX + "b", "route", "add", f"{address}/32", "dev", name)
        found = Bed(group, folder)
        yield found
        for line in lines:
            line.stdin.close()
            found.lines.append(line.stdout.read().strip())
    finally:
        for line in lines:
            line.kill()
            line.wait()
            line.stdin.close()
            line.stdout.close()
        remove()


def checksum_errors(side):
    """Counts of packets with wrong checksums or headers."""
    report = json.loads(run(*inside(side, "nstat", "-jasz")))["kernel"]
    return {name: report[name] for name in CHECKSUMS}


def flows(bed, seconds, *, sources=(INTRA, CROSS), later=(0, 0), during=lambda: None):
    """Bulk flows from a to b, one from each source address: iperf3's reports of the receiving and of the sending side."""
    join = ["sh", "-c", f'echo $$ > {bed.cgroup}/cgroup.procs && exec "$@"', "sh"]
    servers, clients = [], []
    try:
        for i, _ in enumerate(sources):
            words = inside("b", *join, *PRIORITY, "iperf3", "-s", "-1", "-p", 5201 + i, "-i", "0.1", "-J")
            servers.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        time.sleep(0.3)
        for i, source in enumerate(sources):
            time.sleep(later[i])
            words = [
                "iperf3",
                "-c",
                RECEIVER,
                "-B",
                source,
                "-p",
                5201 + i,
                "-t",
                seconds,
                "-i",
                "0.1",
                "-l",
                "16K",
                "-J",
            ]
            done = inside("a", *join, *PRIORITY, *words)
            clients.append(subprocess.Popen(done, stdout=subprocess.PIPE, text=True))
        time.sleep(seconds / 2)
        during()
        sent = [json.loads(client.communicate(timeout=seconds + 20)[0]) for client in clients]
        reports = [json.loads(server.communicate(timeout=10)[0]) for server in servers]
    finally:
        for process in (*clients, *servers):
            process.kill()
            process.wait()
            process.stdout.close()
    for report in (*sent, *reports):
        assert "error" not in report, report["error"]
    return reports, sent


def throughputs(report):
    """Mbps per tenth of a second."""
    return [i["sum"]["bits_per_second"] / 1e6 for i in report["intervals"]]


def gear_connections(seen):
    """Those of the bulk flows, by kind."""
    return {c["kind"]: c for c in seen if c["acks"] > 500}


def leftovers():
    """What there is of ours: namespaces, cgroup, maps."""
    from farloop.kernel import libbpf

    names = (GEAR.control, GEAR.flows, telemetry.STORAGE)
    maps = [m.name for m in libbpf.maps() if m.name in names]
    group = hierarchy() / f"{PREFIX}test"
    return namespaces() + maps + ([str(group)] if group.exists() else [])
