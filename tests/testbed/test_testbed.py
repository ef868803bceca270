"""What a testbed builds of scenarios and refuses, what it makes of the kernel's answers. Without a kernel: test_testbed_live.py has one."""

import dataclasses
import json
import struct
from pathlib import Path

import pytest

from farloop import _native, api
from farloop.errors import FarloopError
from farloop.kernel import tcp_info
from farloop.output import saving
from farloop.output.store import Simulated
from farloop.scenario import Scenario
from farloop.testbed import agreement, algorithms, blueprint, connections, measured, repetitions
from farloop.testbed.emulator_process import EmulatorProcess
from farloop.testbed.link_emulator import Lateness
from farloop.testbed.network import Network
from farloop.testbed.ports import Counters, Setting

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "testbed.toml"


@pytest.fixture(scope="module")
def example():
    return Scenario.load(EXAMPLE)


def test_the_plan_is_the_scenario(example):
    plan = blueprint.plan(example)
    assert [node.name for node in plan.nodes] == ["near", "receiver", "leaf", "border", "far"]
    assert (plan.duration, plan.interval, plan.mtu, plan.unseen) == (10.0, 0.01, 1500, 24)
    assert plan.recorded_ports == (("leaf", "receiver", 1),)
    bottleneck = plan.links[1]
    assert (bottleneck.rate, bottleneck.delay_ps) == (100_000_000, 10_000_000)
    leaf, host = bottleneck.ports
    assert host is None and (leaf.packets, leaf.kmin, leaf.kmax, leaf.pmax) == (100, 30_000, 30_000, 1.0)
    assert [(f.name, f.size, f.cross_datacenter) for f in plan.flows] == [("near", None, False), ("far", None, True)]
    # Twice the path's delays, and what a packet and its acknowledgement take on each link.
    assert 10e9 < plan.flows[0].base_rtt_ps < 10.5e9
    assert plan.algorithms[0].kernel == "cubic"


def test_routes_lead_everywhere(example):
    plan = blueprint.plan(example)
    for host in plan.hosts:
        routes = plan.routes(host)
        assert sorted(routes) == [node for node in range(len(plan.nodes)) if node != host]
        for node, (link, end) in routes.items():
            assert plan.links[link].ends[end] == node
    assert plan.routes(4)[0] == (0, 0)
    assert plan.used == [0, 1, 2, 3]
    assert dataclasses.replace(plan, flows=plan.flows[:1]).used == [0, 1]


@pytest.mark.parametrize(
    ("setting", "where", "said"),
    [
        ("transport.preset=linux-4.9", "transport.preset:", 'expected "linux-6"'),
        ("transport.control_priority=true", "transport.control_priority:", "expected false"),
        ("transport.min_rto=1ms", "transport.min_rto:", 'expected "200ms"'),
        ("transport.segmentation_offload=true", "transport.segmentation_offload:", "expected false"),
        ("transport.mtu=100B", "transport.mtu:", "552B to 9kB"),
        ("transport.framing=10B", "transport.framing:", "14B or more"),
        ("switch.pfc=true", "switch.pfc:", "pfc = false"),
        ("switch.discipline=drr", "switch.discipline:", 'discipline = "fifo"'),
        ("switch.ecn_at=departure", "switch.ecn_at:", 'ecn_at = "arrival"'),
        ("switch.ecn_drops_others=true", "switch.ecn_drops_others:", "ecn_drops_others = false"),
        ("link.near->leaf.rate=10Gbps", "link.near->leaf.rate:", "1Mbps to 1Gbps"),
        ("link.near->leaf.delay=2s", "link.near->leaf:", "at most 1s"),
        ("link.near->leaf.loss=0.1", "link.near->leaf:", "without loss"),
        ("algorithm.name=westwood", "algorithm.name:", "is in no kernel; expected one of"),
        # Which the simulator would ask for telemetry.
        ("algorithm.name=hpcc", "algorithm.name:", "is in no kernel; expected one of"),
        ("algorithm.cubic.beta=0.5", "algorithm.cubic.beta:", "expected 0.7"),
        ("flow.near.initial_cwnd=100kB", "flow.near.initial_cwnd:", "the kernel decides"),
        ("flow.near.class=1", "flow.near.class:", "one queue"),
        ("flow.near.count=2000", "flow:", "at most 1000"),
    ],
)
def test_what_it_cannot_build_is_refused_by_its_key(example, setting, where, said):
    with pytest.raises(_native.ScenarioError) as refused:
        blueprint.plan(example.override([setting]))
    message = str(refused.value)
    assert where in message and said in message, message


def test_a_written_key_is_refused_with_its_line():
    text = EXAMPLE.read_text().replace("pfc = false", "pfc = true")
    line = text.splitlines().index("pfc = true") + 1
    with pytest.raises(_native.ScenarioError, match=rf"^mine.toml:{line}: switch.pfc: .*expected pfc = false"):
        blueprint.plan(Scenario.from_text(text, "mine.toml"))


def test_links_that_change_are_refused():
    text = EXAMPLE.read_text() + '[[event]]\nat = "1s"\nlink = "near->leaf"\nrate = "10Mbps"\n'
    line = text.splitlines().index('at = "1s"') + 1
    with pytest.raises(_native.ScenarioError, match=rf"^mine.toml:{line}: event.1.at: .*expected no \[\[event\]\]"):
        blueprint.plan(Scenario.from_text(text, "mine.toml"))


def test_agents_of_the_network_are_refused():
    # No flow leaves its datacenter, so that no algorithm has to hear it.
    text = EXAMPLE.read_text().replace('from = "far"', 'from = "near"') + '[[agent]]\nname = "themis"\nat = ["leaf"]\n'
    line = text.splitlines().index("[[agent]]") + 1
    with pytest.raises(_native.ScenarioError, match=rf"^mine.toml:{line}: agent.themis: .*expected no \[\[agent\]\]"):
        blueprint.plan(Scenario.from_text(text, "mine.toml"))


def test_ports_that_one_link_feeds_keep_nothing_waiting():
    plan = blueprint.plan(Scenario.load("gemini/kernel-fig10"))
    ends = [(plan.nodes[link.ends[end]].name, plan.nodes[link.ends[1 - end]].name) for link, end in ports_of(plan)]
    # Two servers of the first rack meet at its switch, both racks at the border. All the rest follows the WAN, or comes from one server.
    contended = {("dc0-leaf1", "dc0-spine1"), ("dc0-spine1", "dc1-spine1")}
    hosts = {(a, b) for a, b in ends if a.partition("-")[2].startswith("h")}
    quiet = {ends[i] for i, port in enumerate(ports_of(plan, numbers=True)) if port in plan.fed_by_one}
    assert set(ends) == quiet | contended | hosts and not quiet & (contended | hosts)


def test_a_slower_port_is_a_bottleneck_whoever_feeds_it():
    plan = blueprint.plan(Scenario.load("gemini/kernel-fig10").override(["network.wan_rate=50Mbps"]))
    behind = [(k, e) for k, e in plan.fed_by_one if plan.nodes[plan.links[k].ends[e]].name == "dc1-spine1"]
    names = {plan.nodes[plan.links[k].ends[1 - e]].name for k, e in behind}
    # The WAN's own port back is slower than the link that feeds it.
    assert names == {"dc1-leaf1"}


def ports_of(plan, numbers=False):
    """All ports that traffic passes, each a link (or its number) and an end."""
    ports = sorted({port for path in plan.paths() for port in path})
    return ports if numbers else [(plan.links[number], end) for number, end in ports]


def test_several_shortest_paths_are_refused():
    text = """
[run]
duration = "1s"
[network]
topology = "spine-leaf"
spines = 2
leaves = 2
rate = "1Gbps"
[switch]
pfc = false
[transport]
kind = "tcp"
preset = "linux-6"
header = "52B"
ack = "52B"
control_priority = false
segmentation_offload = false
[algorithm]
name = "cubic"
[[flow]]
from = "h1"
to = "h2"
"""
    with pytest.raises(_native.ScenarioError, match="several equally short paths"):
        blueprint.plan(Scenario.from_text(text))


def test_gemini_has_the_scenarios_parameters(example):
    settings = ["algorithm.gemini.beta=0.4", "algorithm.gemini.ecn_threshold=30kB"]
    (own,) = blueprint.plan(example.override(settings, algorithm="gemini")).algorithms
    assert (own.kernel, own.parameters["beta"], own.parameters["ecn_threshold"]) == ("gemini", 0.4, "30kB")
    # As in the simulator, C is what the senders' links carry, not the receiver's.
    plan = blueprint.plan(example.override(settings, algorithm="gemini"))
    assert algorithms.parameters(own, plan)["capacity"] == "200000000bps"
    with pytest.raises(_native.ScenarioError, match=r"algorithm.gemini.slow_start"):
        blueprint.plan(example.override(["algorithm.gemini.slow_start=false"], algorithm="gemini"))


def test_a_tcp_info_is_read_where_the_kernel_has_it():
    raw = bytearray(264)
    for offset, form, value in [
        (16, "I", 1448),
        (68, "I", 1500),
        (80, "I", 20),
        (100, "I", 7),
        (104, "Q", 2**64 - 1),
        (148, "I", 900),
        (156, "I", 50),
        (196, "I", 9),
        (216, "I", 3),
        (240, "H", 2),
    ]:
        struct.pack_into(f"={form}", raw, offset, value)
    info = tcp_info.read(bytes(raw))
    assert (info.cwnd, info.rtt, info.retransmitted, info.pacing) == (28_960, 0.0015, 7, float("inf"))
    assert (info.min_rtt, info.packets, info.marked, info.spurious, info.timeouts) == (0.0009, 50, 9, 3, 2)
    assert tcp_info.read(bytes(raw)[:104]).pacing == 0.0
    for length in range(len(raw)):
        tcp_info.read(bytes(raw[:length]))


def test_settings_are_what_the_program_reads():
    packed = Setting(10**8, 24, limit=9, packets=8, kmin=1, kmax=2, pmax=0.5).pack_bytes(5)
    assert struct.unpack("=9Q", packed) == (1, 2, 2**31, 9, 8, 24, 10**8, 5, 0)


class _Ports:
    def count_dropped(self, flow):
        return 4 if flow == 0 else 0


@pytest.fixture
def measurement(example):
    """Two flows that were measured for two seconds: one without end, one that finished."""
    wanted = blueprint.plan(example.override(["flow.far.size=1MB", "run.duration=2s"]))
    info = tcp_info.TcpInfo(30_000, 1e8, 0.011, 0.0101, 4, 1, 9, 2000, 1)
    transfers = [
        connections.Transfer(flow, None, None, begun=0.0, delivered=d, info=info)
        for flow, d in zip(wanted.flows, (20_000_000, 1_000_000), strict=True)
    ]
    transfers[1].received, transfers[1].finished = 0.5, 0.515
    counters = [Counters(100, 25_000_000, 9, 4, 150_000, 60_000, 12_000.0, 100_000.0)] * 10
    samples = [
        connections.Sample(
            t, {0: (int(10_000_000 * t), info)}, {2: dataclasses.replace(counters[0], bytes=int(12_500_000 * t))}
        )
        for t in (1.0, 2.0)
    ]
    result = connections.Measurement(transfers, samples, 2.0, counters, [50_000.0] * 10, True, 0.001)
    late = Lateness(1000, 5e-5, 0.02, 3, 0)
    network = Network(wanted, {}, _Ports(), None, (0, 2))
    simulated = measured.make_tables(network, result, [(late, late), (late, late)])
    return example, simulated


def as_run(scenario, simulated: Simulated):
    from farloop.experiments.variants import Variant, make_run

    return make_run(simulated, Variant("cubic, measured", "", "cubic", scenario))


def test_a_measurement_is_a_run_like_any_other(measurement, tmp_path):
    scenario, simulated = measurement
    run = as_run(scenario, simulated)
    assert run.summary["throughput"] == pytest.approx(84e6)
    (near, far) = run.summary["flows"]
    assert (near["outcome"], near["throughput"], near["loss_rate"]) == ("unfinished", 80e6, 4 / 2000)
    assert (far["outcome"], far["completion"]) == ("finished", 0.5)
    assert run.summary["worst"]["mean_queue"]["mean_queue"] == 50_000
    times, values = run.samples.get("flow/near", "throughput")
    assert list(times) == [1.0, 2.0] and list(values) == [80e6, 80e6]
    assert list(run.samples.get("port/leaf->receiver", "max_queue")[1]) == [60_000, 60_000]
    assert "paused the testbed for up to 20 ms" in run.info["notes"][0]
    saving.save_run(run, tmp_path / "out", report=False)
    again = api.load(tmp_path / "out").runs[0]
    assert again.info[measured.MEASURED] == json.loads(json.dumps(run.info[measured.MEASURED]))
    assert again.flows.equals(run.flows)


def test_agreement_is_about_shares_and_the_queue(measurement):
    scenario, simulated = measurement
    run = as_run(scenario, simulated)
    row = agreement.finding(run, [run, run])
    assert row["verdict"] == "reproduced" and len(row["statements"]) == 3
    other = dataclasses.replace(
        run,
        flows=run.flows.set_column(
            run.flows.column_names.index("delivered_bytes"),
            run.flows.schema.field("delivered_bytes"),
            [[10_000_000, 1_000_000]],
        ),
    )
    row = agreement.finding(run, [other])
    assert row["verdict"] == "differs"
    assert [s["holds"] for s in row["statements"]] == [False, False, True]
    row = agreement.finding(run, [run, other, run])
    assert row["verdict"] == "reproduced", "of three the median counts"


def test_what_is_missing_is_said_in_one_line(example, monkeypatch, tmp_path):
    monkeypatch.setattr(
        repetitions.doctor,
        "missing_requirements",
        lambda objects: ["capabilities: CAP_NET_ADMIN missing; run it as root"],
    )
    with pytest.raises(
        repetitions.FarloopError, match=r"^the testbed cannot be built: capabilities: CAP_NET_ADMIN missing"
    ):
        repetitions.measure(example)
    monkeypatch.setattr(repetitions.doctor, "missing_requirements", lambda objects: [])
    monkeypatch.setattr(repetitions.doctor, "OBJECTS", tmp_path)
    with pytest.raises(repetitions.FarloopError, match="program switch: not compiled"):
        repetitions.measure(example)


SAYS = "import sys; print('ready', flush=True); sys.stdin.read(); print(sys.argv[1], flush=True)"


def test_an_emulators_process_is_started_checked_and_ended(tmp_path, monkeypatch):
    """Both emulators': it gives the JSON that it wrote, and says how it ended where it did so before."""
    (tmp_path / "says_json.py").write_text(SAYS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = EmulatorProcess("the emulator", ["says_json", "[1, 2]"], None)
    process.check()
    assert process.read_output() == [1, 2]
    with pytest.raises(FarloopError, match="the emulator has ended: without a word"):
        process.check()
    process.kill()
    with pytest.raises(FarloopError, match="the emulator has ended: without a word"):
        EmulatorProcess("the emulator", ["says_json", "no JSON"], None).read_output()
    with pytest.raises(FarloopError, match=r"the link emulator has ended: .*No module named farloop_nothing"):
        EmulatorProcess("the link emulator", ["farloop_nothing"], None)
