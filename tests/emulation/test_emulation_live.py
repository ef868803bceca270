"""An emulator on the kernel that runs the tests: real frames through namespaces, taps and named interfaces. As root; otherwise skipped."""

import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import live
from support.cases import cases

from farloop.emulation import ends, long_links, netem, session
from farloop.emulation.process import MODULE, Emulator
from farloop.errors import FarloopError
from farloop.kernel.rollout import net_namespaces
from farloop.scenario import Scenario
from farloop.testbed.namespaces import Namespace

pytestmark = pytest.mark.live
EXAMPLE = Path(__file__).parents[2] / "examples" / "emulate.toml"
SLOW = ["link.west->east.rate=20Mbps", "link.west->east.delay=20ms", "wan_switch.queue_limit=1MB"]


@pytest.fixture(autouse=True)
def host():
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("not root on Linux")
    if not (
        shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")
        and shutil.which("tc", path="/usr/sbin:/sbin:/usr/bin:/bin")
    ):
        live.lacks_program("ip is missing")
    before = state()
    yield
    assert emulators() == []
    assert state() == before


def state():
    """The state of a host that an emulation may not change: interfaces with their settings, routes, namespaces, sysctls."""
    shown = [
        subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout
        for words in (
            ["-d", "link"],
            ["route", "show", "table", "all"],
            ["-6", "route", "show", "table", "all"],
            ["netns"],
        )
    ]
    sysctls = ("tcp_congestion_control", "tcp_ecn", "ip_forward", "tcp_rmem", "tcp_wmem")
    return shown, [Path("/proc/sys/net/ipv4", name).read_text() for name in sysctls], os.sched_getscheduler(0)


def emulators(deadline=20.0):
    """Emulators that run, once those that are ending have ended."""
    end = time.monotonic() + deadline
    while True:
        pids = [p.parent.name for p in Path("/proc").glob("[0-9]*/cmdline") if MODULE.encode() in read(p)]
        if not pids or time.monotonic() > end:
            return pids
        time.sleep(0.1)


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def planned(*settings):
    return long_links.read_plan(Scenario.load(EXAMPLE).override([*SLOW, *settings]), 100e-6)


PING = """
import socket, sys, time
kind = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(kind, socket.SOCK_DGRAM) as sender:
    # The other end may not be there yet. Each datagram has a number, so that no late answer is taken for another.
    sender.settimeout(0.5)
    for number in range(100):
        try:
            sender.sendto(b"%100d" % number, (sys.argv[1], 7))
            sender.recv(1000)
            break
        except TimeoutError:
            pass
    sender.settimeout(5)
    for number in range(100, 120):
        start = time.monotonic()
        sender.sendto(b"%100d" % number, (sys.argv[1], 7))
        while sender.recv(1000) != b"%100d" % number:
            pass
        took = time.monotonic() - start
        assert took >= 0.04, took
"""
ECHO = """
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as server:
    server.bind(("::", 7))
    while True:
        data, sender = server.recvfrom(1000)
        server.sendto(data, sender)
"""
DOWNLOAD = """
import socket, sys
with socket.create_server(("::", 9), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    connection, _ = server.accept()
    total = 0
    while data := connection.recv(1 << 16):
        total += len(data)
assert total == 2_000_000, total
"""
UPLOAD = """
import socket, sys, time
for _ in range(100):
    try:
        connection = socket.create_connection((sys.argv[1] if sys.argv[1:] else "10.213.1.2", 9))
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
connection.sendall(bytes(2_000_000))
connection.close()
"""


def program(node, text, *words):
    return session.NodeProgram(node, (sys.executable, "-c", text, *words))


@pytest.mark.parametrize("address", ["10.213.1.2", "fd00:213:1::2"])
def test_both_families_wait_the_delay_and_nobody_is_told_who_is_where(address):
    """ARP and neighbour discovery pass, and what comes back took both ways."""
    echo, ask = program("east", ECHO), program("west", PING, address)
    done = session.emulate(planned(), long_links.Impairments(), programs=[echo, ask], calibrates=False)
    assert done.failed == () and done.host_lost == 0
    there, back = done.directions
    assert there.counts["left"] >= 20 and back.counts["left"] >= 20


@pytest.mark.parametrize("offload", [False, True])
def test_tcp_gets_through_whole_at_the_links_rate(offload):
    programs = [program("west", UPLOAD), program("east", DOWNLOAD)]
    settings = ["wan_switch.kmin=30kB", "wan_switch.kmax=30kB"]
    done = session.emulate(
        planned(*settings), long_links.Impairments(), programs=programs, calibrates=False, segmentation_offload=offload
    )
    there = done.directions[0]
    assert done.failed == () and there.counts["bytes"] >= 2_000_000
    # 2 MB take 0.8 s at 20 Mbps: frames of several segments are cut, and each takes its time.
    assert done.seconds > 0.8 and there.counts["left"] >= 2_000_000 // 1460
    assert there.counts["queue"] > 3000
    assert (there.counts["longest"] > 1514) == offload


@pytest.mark.parametrize("address", ["10.213.1.2", "fd00:213:1::2"])
@pytest.mark.parametrize("joins", [True, False])
def test_segments_that_leave_together_reach_programs_as_one_frame(address, joins):
    """IPv4 and IPv6, and the stream is whole either way."""
    programs = [program("west", UPLOAD, address), program("east", DOWNLOAD)]
    settings = ["link.west->east.rate=2Gbps", "wan_switch.kmin=300kB", "wan_switch.kmax=300kB"]
    done = session.emulate(
        planned(*settings), long_links.Impairments(), programs=programs, calibrates=False, receive_offload=joins
    )
    there, back = done.directions
    assert done.failed == () and there.counts["bytes"] >= 2_000_000
    # The law sees packets, joined or not.
    assert there.counts["longest"] == 1514
    assert (there.counts["joined"] > 1514) == joins
    assert back.counts["joined"] == 0


def test_losses_and_reordering_are_counted_and_tcp_repairs_them():
    programs = [program("west", UPLOAD), program("east", DOWNLOAD)]
    added = long_links.read_impairments("1ms", "0.002,0.3", "0.01,5ms")
    done = session.emulate(planned("link.west->east.loss=0.005"), added, programs=programs, calibrates=False)
    there = done.directions[0].counts
    assert done.failed == ()
    assert there["lost_random"] + there["lost_burst"] > 0 and there["late"] > 0
    assert there["came"] == there["left"] + there["inside"] + done.directions[0].gone


def test_a_calibration_says_what_this_host_carries_and_refuses_what_it_does_not():
    from farloop.emulation.calibration import calibrate

    slow = calibrate(planned(), real_time=True, one_way=False)
    assert slow.carried > 0.9 * slow.wanted > 2500 and slow.lost == 0
    fast = calibrate(planned("link.west->east.rate=100Gbps"), real_time=False, one_way=True)
    with pytest.raises(FarloopError, match="this host carried"):
        fast.refuse()


@contextmanager
def raw(device, namespace):
    """A socket for all frames of an interface of a namespace."""
    with namespace.enter_namespace():
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    with made:
        made.bind((device, 0))
        made.settimeout(5)
        yield made


def receive(where, wanted):
    """The next frame from somebody of ours."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        frame, (_, _, kind, _, _) = where.recvfrom(70_000)
        if kind != socket.PACKET_OUTGOING and wanted(frame):
            return frame
    raise AssertionError("no frame came")


@contextmanager
def running(planned, **options):
    with ends.make_namespaces(planned) as made:
        emulator = Emulator(
            planned.spec(made.interfaces, long_links.Impairments(), **options), made.namespace, real_time=False
        )
        try:
            yield made, emulator
        finally:
            emulator.kill()


def test_frames_of_any_kind_pass_as_they_came():
    """With a VLAN tag, with two, and of a protocol that nobody knows; one that is too long does not."""
    with (
        running(planned()) as (made, emulator),
        raw("link1", made.nodes["west"]) as first,
        raw("link1", made.nodes["east"]) as second,
    ):
        ours = b"\xff" * 6 + b"\x02\x00\x00\x00\xfa\x01"
        tagged = ours + struct.pack("!HHH", 0x8100, 0x6005, 0x88B5) + bytes(range(60))
        stacked = ours + struct.pack("!HHHHH", 0x88A8, 0x0007, 0x8100, 0x0005, 0x88B5) + bytes(range(60))
        plain = ours + struct.pack("!H", 0x88B5) + bytes(range(60))
        for frame in (plain, tagged, stacked):
            first.send(frame)
            came = receive(second, lambda frame: frame[6:12] == ours[6:])
            # This socket gets a tag beside the frame, as the kernel strips the outermost one.
            assert came[:12] == ours and came.endswith(bytes(range(60)))
        (report,) = emulator.stop()
    assert report[0]["left"] >= 3 and report[0]["dropped_long"] == 0


@contextmanager
def tap(name):
    """A tap of this namespace while the block lasts, and the file of whoever is behind it."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    try:
        fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1002))
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
        Path("/proc/sys/net/ipv6/conf", name, "disable_ipv6").write_text("1")
        yield file
    finally:
        os.close(file)


def test_taps_exchange_frames_with_the_tag_in_them():
    if not Path("/dev/net/tun").exists():
        pytest.skip("this kernel has no taps")
    ours = b"\x02\x00\x00\x00\xfa\x02\x02\x00\x00\x00\xfa\x01"
    tagged = ours + struct.pack("!HHH", 0x8100, 0x6005, 0x88B5) + bytes(range(60))
    with Namespace().enter_namespace(), tap("farloop-a") as first, tap("farloop-b") as second:
        named = ends.named_interfaces(planned(), "farloop-a,farloop-b")
        emulator = Emulator(
            planned().spec(named.interfaces, long_links.Impairments(), takes_large=True, promiscuous=True),
            None,
            real_time=False,
        )
        try:
            start = time.monotonic()
            os.write(first, tagged)
            # The kernel may have announced itself on a tap before it was told not to.
            while (frame := os.read(second, 2000))[6:12] != tagged[6:12]:
                assert time.monotonic() - start < 20
            assert frame == tagged
            assert time.monotonic() - start >= 0.02
        finally:
            emulator.kill()


def test_interfaces_in_use_are_refused():
    routed = sorted(ends.default_routes())
    for name in routed[:1]:
        with pytest.raises(FarloopError, match=f"--between: {name} carries the default route"):
            ends.named_interfaces(planned(), f"{name},lo")
    with pytest.raises(FarloopError, match="--between: lo is the loopback interface"):
        ends.named_interfaces(planned(), "lo,nobody")
    with pytest.raises(FarloopError, match='there is no interface "nobody"'):
        ends.named_interfaces(planned(), "nobody,lo")
    with pytest.raises(FarloopError, match="is not two interfaces"):
        ends.named_interfaces(planned(), "lo")
    with Namespace().enter_namespace():

        def run(*words):
            subprocess.run(["ip", *words], check=True)

        run("link", "add", "name", "farloop-a", "type", "veth", "peer", "name", "farloop-b")
        with pytest.raises(FarloopError, match="farloop-a is down; expected it up"):
            ends.named_interfaces(planned(), "farloop-a,farloop-b")
        run("link", "add", "name", "farloop-c", "type", "bridge")
        run("link", "set", "farloop-a", "master", "farloop-c")
        with pytest.raises(FarloopError, match="farloop-a belongs to farloop-c"):
            ends.named_interfaces(planned(), "farloop-a,farloop-b")
        run("link", "set", "farloop-a", "nomaster")
        run("address", "add", "192.0.2.1/24", "dev", "farloop-a")
        with pytest.raises(FarloopError, match=r"has the address 192\.0\.2\.1"):
            ends.named_interfaces(planned(), "farloop-a,farloop-b")
        run("address", "flush", "dev", "farloop-a")
        run("link", "set", "farloop-a", "mtu", "1000")
        with pytest.raises(FarloopError, match="an MTU of 1000, and the scenario's is 1500"):
            ends.named_interfaces(planned(), "farloop-a,farloop-b")


def taps_and_rules():
    """What else an emulation could leave: namespaces that somebody holds, rules of routing, taps."""
    held = set(net_namespaces.list_namespaces())
    rules = [
        subprocess.run(["ip", family, "rule"], capture_output=True, text=True, check=True).stdout
        for family in ("-4", "-6")
    ]
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return held, rules, [line.split(":")[1] for line in links.splitlines()]


@pytest.mark.long
def test_kills_at_any_time_leave_nothing():
    """While it starts, calibrates, runs programs, or moves frames between taps: no emulator, namespace, tap, rule or program is left."""
    words = ["emulate", str(EXAMPLE), *(w for s in SLOW for w in ("--set", s))]
    sleeper = f"west={sys.executable} -c 'import time; time.sleep(987)'"
    before, chance = taps_and_rules(), random.Random(52)
    for number in range(cases(30)):
        with contextlib.ExitStack() as stack:
            more = ["--run", sleeper]
            if number % 3 == 2 and Path("/dev/net/tun").exists():
                stack.enter_context(Namespace().enter_namespace())
                stack.enter_context(tap("farloop-a"))
                stack.enter_context(tap("farloop-b"))
                more = ["--between", "farloop-a,farloop-b", "--no-calibration"]
            command = [sys.executable, "-m", "farloop", *words, *more]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.1, 3.0))
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert emulators() == []
        end = time.monotonic() + 20
        while (after := taps_and_rules()) and time.monotonic() < end:
            # Those that others held before may be gone.
            if after[0] <= before[0] and after[1:] == before[1:]:
                break
            time.sleep(0.1)
        assert after[0] <= before[0] and after[1:] == before[1:], number
        assert not any(b"time.sleep(987)" in read(path) for path in Path("/proc").glob("[0-9]*/cmdline"))


def test_the_command_prints_what_became_of_all_packets():
    words = ["emulate", str(EXAMPLE), *(w for s in SLOW for w in ("--set", s)), "--no-calibration", "--json"]
    ask = f"west={sys.executable} -c 'import time; time.sleep(0.3)'"
    done = subprocess.run(
        [sys.executable, "-m", "farloop", *words, "--run", ask], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "west: nsenter --net=/proc/" in done.stderr and "not emulated: 2 shorter links" in done.stderr
    reported = json.loads(done.stdout)
    assert [each["direction"] for each in reported["directions"]] == ["west->east", "east->west"]
    failed = subprocess.run(
        [sys.executable, "-m", "farloop", *words, "--run", "west=false"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 2 and "--run: false ended with 1" in failed.stderr


def test_without_rights_it_says_so():
    words = [sys.executable, "-m", "farloop", "emulate", str(EXAMPLE)]
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]
    try:
        done = subprocess.run([*drop, *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        live.lacks_program("setpriv is missing")
    assert (done.returncode, done.stdout) == (2, "") and "run it as root" in done.stderr


def test_tc_itself_takes_the_lines_of_netem():
    """The kernel may lack netem; the program reads the line first, and says it otherwise if it cannot."""
    with Namespace().enter_namespace():
        subprocess.run(
            ["ip", "link", "add", "name", "farloop-a", "type", "veth", "peer", "name", "farloop-b"], check=True
        )
        added = long_links.read_impairments("1ms", "0.002,0.3", None)
        for settings, more in (
            ([], added),
            (["wan_switch.ecn=false", "link.west->east.loss=1e-7"], long_links.Impairments()),
        ):
            for line in netem.tc_lines(planned(*settings), more, ["farloop-a", "farloop-b"]):
                if line.startswith("tc "):
                    done = subprocess.run(line.split(), capture_output=True, text=True, check=False)
                    unread = ("What is", "Illegal", "Usage", "wrong", "invalid", "Unable", "failed")
                    assert not any(word in done.stderr for word in unread), (line, done.stderr)
