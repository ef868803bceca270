"""SNDlib's networks, native and XML: both give the same, load and run; what is wrong is named with its line."""

import csv
import tomllib

import pytest
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app
from farloop.formats.distances import Coordinates, fibre_delay

NATIVE = """\
?SNDlib native format; type: network; version: 1.0
# a comment

META (
  granularity = none
  unit = MBITPERSEC
  origin = somebody (somewhere), 2026
)

NODES (
  Ulm ( 9.99 48.40 ) ( ) ( )
  Bonn.west ( 7.10 50.73 )
  Kiel ( 10.12 54.32 )
  Port
)

LINKS (
  L1 ( Ulm Bonn.west ) 9920.00 0.00 0.00 0.00 ( 40000.00 133.00 )
  L2 ( Bonn.west Kiel ) 0.00 0.00 0.00 0.00 ( 30000.00 5.00 2500.00 1.00 )
  L3 ( Kiel Port ) 1000.50 0.00 0.00 0.00 ( )
)

DEMANDS (
  D1 ( Ulm Kiel ) 1 80.00 UNLIMITED
  D2 ( Kiel Bonn.west ) 2 40.50 3
)

ADMISSIBLE_PATHS (
  D1 (
    P0 ( L1 L2 )
  )
)
"""

XML = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta>
  <unit>MBITPERSEC</unit>
  <origin>J\xe9r\xf4me</origin>
 </meta>
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="Ulm"><coordinates><x>9.99</x><y>48.40</y></coordinates></node>
   <node id="Bonn.west"><coordinates><x>7.10</x><y>50.73</y></coordinates></node>
   <node id="Kiel"><coordinates><x>10.12</x><y>54.32</y></coordinates></node>
   <node id="Port"/>
  </nodes>
  <links>
   <link id="L1">
    <source>Ulm</source> <target>Bonn.west</target>
    <preInstalledModule><capacity>9920.0</capacity><cost>0.0</cost></preInstalledModule>
    <additionalModules><addModule><capacity>40000.0</capacity><cost>133.0</cost></addModule></additionalModules>
   </link>
   <link id="L2">
    <source>Bonn.west</source> <target>Kiel</target>
    <additionalModules>
     <addModule><capacity>30000.0</capacity><cost>5</cost></addModule>
     <addModule><capacity>2500.0</capacity><cost>1</cost></addModule>
    </additionalModules>
   </link>
   <link id="L3">
    <source>Kiel</source> <target>Port</target>
    <preInstalledModule><capacity>1000.50</capacity></preInstalledModule>
   </link>
  </links>
 </networkStructure>
 <demands>
  <demand id="D1"><source>Ulm</source><target>Kiel</target><demandValue>80.0</demandValue></demand>
  <demand id="D2">
   <source>Kiel</source><target>Bonn.west</target>
   <routingUnit>2</routingUnit><demandValue>40.5</demandValue><maxPathLength>3</maxPathLength>
   <admissiblePaths><admissiblePath id="P0"><linkId>L2</linkId></admissiblePath></admissiblePaths>
  </demand>
 </demands>
</network>
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="net.txt"):
        path = tmp_path / name
        path.write_bytes(text.encode("latin-1"))
        return path

    return written


def flows(text):
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def body(text):
    """Text below the comments at the top."""
    return text[text.index("\n[network]") :]


def test_nodes_become_routers_with_hosts_and_links_have_their_capacity(write):
    text = farloop.from_sndlib(write(NATIVE))
    document = tomllib.loads(text)
    assert [(node["name"], node["kind"], node.get("datacenter")) for node in document["node"]] == [
        ("Ulm", "router", None), ("Bonn-west", "router", None), ("Kiel", "router", None), ("Port", "router", None),
        ("host-Ulm", "host", 0), ("host-Bonn-west", "host", 1), ("host-Kiel", "host", 2), ("host-Port", "host", 3),
    ]  # fmt: skip
    links = {(link["a"], link["b"]): link for link in document["link"]}
    # The pre-installed capacity; without one the smallest module; as it is written.
    assert links["Ulm", "Bonn-west"]["rate"] == "9.92Gbps"
    assert links["Bonn-west", "Kiel"]["rate"] == "2.5Gbps"
    assert links["Kiel", "Port"]["rate"] == "1000.5Mbps"
    assert links["host-Port", "Port"] == {"a": "host-Port", "b": "Port", "rate": "9.92Gbps", "delay": "1us"}
    delay = fibre_delay(Coordinates(48.40, 9.99), Coordinates(50.73, 7.10))
    assert float(links["Ulm", "Bonn-west"]["delay"].removesuffix("us")) == pytest.approx(delay * 1e6, abs=1e-3)
    assert links["Kiel", "Port"]["delay"] == "1us", "at its neighbour's place, where links have 1 us"
    assert "# 1 in it is 1Mbps, as it says." in text
    assert "# 1 of 3 links: no pre-installed capacity, so one of the smallest module." in text
    assert "# Without coordinates, so at the mean of their neighbours: Port." in text
    assert "# Left out: costs, longest paths of demands, admissible paths." in text


def test_both_forms_give_the_same(write):
    native, xml = write(NATIVE), write(XML, "net.xml")
    assert body(farloop.from_sndlib(native)) == body(farloop.from_sndlib(xml))
    listed = [farloop.flows_from_sndlib(path, size="100kB") for path in (native, xml)]
    assert flows(listed[0]) == flows(listed[1])


def test_options_change_rates_delays_and_hosts(write):
    document = tomllib.loads(
        farloop.from_sndlib(
            write(NATIVE.replace("1000.50", "0.00")),
            unit="1kbps", rate="7Mbps", route_factor=1.5, hosts_per_node=2, host_rate="1Gbps",
        )
    )  # fmt: skip
    links = {(link["a"], link["b"]): link for link in document["link"]}
    assert links["Ulm", "Bonn-west"]["rate"] == "9.92Mbps"
    assert links["Kiel", "Port"]["rate"] == "7Mbps"
    assert links["host-Ulm-2", "Ulm"]["rate"] == "1Gbps"
    delay = 1.5 * fibre_delay(Coordinates(48.40, 9.99), Coordinates(50.73, 7.10))
    assert float(links["Ulm", "Bonn-west"]["delay"].removesuffix("us")) == pytest.approx(delay * 1e6, abs=1e-3)


def test_coordinates_of_a_picture_give_no_delays(write):
    # Native files do not say it, but there is no latitude of 250 degrees; XML does.
    pixels = NATIVE.replace("9.99 48.40", "99 250")
    for path in (write(pixels), write(XML.replace("geographical", "pixel"), "net.xml")):
        text = farloop.from_sndlib(path, delay="3ms")
        assert "# The coordinates are those of a picture, not degrees" in text
        assert {link["delay"] for link in tomllib.loads(text)["link"]} == {"3ms", "1us"}
        assert "delay" not in tomllib.loads(farloop.from_sndlib(path))["link"][0], "the format's default holds"


def test_a_file_without_a_unit_is_in_megabits_and_says_so(write):
    text = farloop.from_sndlib(write(NATIVE.replace("  unit = MBITPERSEC\n", "")))
    assert "# 1 in it is assumed to be 1Mbps, as it states no unit (--unit)." in text
    assert '"9.92Gbps"' in text
    assert '"9.92kbps"' in farloop.from_sndlib(write(NATIVE.replace("MBITPERSEC", "BITSPERSEC")))


def test_links_in_both_directions_are_one(write):
    back = "\n".join(
        line.replace("L", "R", 1).replace(f"( {a} {b} )", f"( {b} {a} )")
        for line in NATIVE.splitlines()
        for a, b in [("Ulm", "Bonn.west"), ("Bonn.west", "Kiel"), ("Kiel", "Port")]
        if f"( {a} {b} ) " in line and line.startswith("  L")
    )
    both = NATIVE.replace(" 1000.50 0.00 0.00 0.00 ( )\n", f" 1000.50 0.00 0.00 0.00 ( )\n{back}\n")
    text = farloop.from_sndlib(write(both))
    assert "# 6 directed links are 3 full-duplex links." in text
    assert body(text) == body(farloop.from_sndlib(write(NATIVE)))
    uneven = both.replace("R1 ( Bonn.west Ulm ) 9920", "R1 ( Bonn.west Ulm ) 9921")
    with pytest.raises(farloop.FarloopError, match=r":21: capacity: other than in the opposite direction, line 18"):
        farloop.from_sndlib(write(uneven))


def test_demands_offer_exactly_what_they_say(write):
    path = write(NATIVE)
    text = farloop.flows_from_sndlib(path, duration="100ms", scale=0.5, size="100kB")
    made = flows(text)
    sent = {
        name: sum(int(flow["size"].removesuffix("B")) for flow in made if flow["name"].startswith(name))
        for name in ("D1-", "D2-")
    }
    # 80 Mbps x 0.5 for 0.1 s, and 2 x 40.5 Mbps x 0.5 for 0.1 s.
    assert sent == {"D1-": 500_000, "D2-": 506_250}
    assert {(flow["from"], flow["to"]) for flow in made} == {("host-Ulm", "host-Kiel"), ("host-Kiel", "host-Bonn-west")}
    assert len(made) == 5 + 6
    assert "# 2 demands x 0.5 offer 80.5 Mbps for 100ms: 1.01 MB in 11 flows." in text
    starts = [farloop.units.seconds(flow["start"]) for flow in made]
    assert starts == sorted(starts)
    assert 0 <= starts[0] < starts[-1] < 0.1
    assert text == farloop.flows_from_sndlib(path, duration="100ms", scale=0.5, size="100kB")
    assert text != farloop.flows_from_sndlib(path, duration="100ms", scale=0.5, size="100kB", seed=2)
    alone = farloop.flows_from_sndlib(
        write(NATIVE.replace("  D2 ( Kiel Bonn.west ) 2 40.50 3\n", "")), duration="100ms", scale=0.5, size="100kB"
    )
    assert flows(alone) == [flow for flow in made if flow["name"].startswith("D1-")], "other demands change nothing"


def test_hosts_of_a_node_take_turns(write):
    made = flows(farloop.flows_from_sndlib(write(NATIVE), scale=0.5, hosts_per_node=2))
    assert {flow["from"] for flow in made if flow["name"].startswith("D1-")} == {"host-Ulm-1", "host-Ulm-2"}


def test_network_and_demands_run(write, tmp_path):
    net, listed = CliRunner(), CliRunner()
    path = str(write(NATIVE))
    network = net.invoke(app, ["import-sndlib", path])
    demands = listed.invoke(app, ["import-sndlib", path, "--flows", "--duration", "20ms", "--size", "50kB"])
    assert (network.exit_code, demands.exit_code) == (0, 0), network.output + demands.output
    write(demands.stdout, "flows.csv")
    rest = '[run]\nduration = "1s"\n[workload]\nflows = "flows.csv"\n[transport]\nkind = "tcp"\n[algorithm]\nname = "cubic"\n'
    result = farloop.run(write(network.stdout + rest, "s.toml"))
    finished = result.summary["flows"]
    assert len(finished) == 9
    assert all(flow["outcome"] == "finished" for flow in finished)
    first = next(flow for flow in finished if flow["name"] == "D1-1")
    way = fibre_delay(Coordinates(48.40, 9.99), Coordinates(50.73, 7.10)) + fibre_delay(
        Coordinates(50.73, 7.10), Coordinates(54.32, 10.12)
    )
    assert first["base_rtt"] == pytest.approx(2 * way, rel=0.01)


def test_two_links_between_the_same_nodes_are_parallel_and_carry_the_demands(write):
    """As in SNDlib's ta1 and zib54."""
    line = "  L2 ( Bonn.west Kiel ) 0.00 0.00 0.00 0.00 ( 30000.00 5.00 2500.00 1.00 )\n"
    assert line in NATIVE
    path = write(NATIVE.replace(line, line + line.replace("L2", "L4").replace("2500.00 1.00", "1000.00 1.00")))
    network = farloop.from_sndlib(path)
    rates = [link["rate"] for link in tomllib.loads(network)["link"] if {link["a"], link["b"]} == {"Bonn-west", "Kiel"}]
    assert rates == ["2.5Gbps", "1Gbps"]
    write(farloop.flows_from_sndlib(path, duration="20ms", size="50kB"), "flows.csv")
    rest = '[run]\nduration = "1s"\n[workload]\nflows = "flows.csv"\n[transport]\nkind = "tcp"\n[algorithm]\nname = "cubic"\n'
    result = farloop.run(write(network + rest, "s.toml"))
    assert all(flow["outcome"] == "finished" for flow in result.summary["flows"])
    links = {port["link"] for port in result.ports.to_pylist() if {port["node"], port["peer"]} == {"Bonn-west", "Kiel"}}
    assert len(links) == 2


HEAD = NATIVE[: NATIVE.index("NODES")]
WRONG_NATIVE = {
    "": ": is empty; expected a network file of SNDlib",
    "NODES (\n)\n": ":1: NODES (: expected a network file of SNDlib",
    NATIVE.replace("type: network", "type: model"): ":1: type: model: expected network",
    NATIVE.replace("LINKS (", "EDGES ("): ":17: EDGES (: expected a section",
    NATIVE.replace("META (", "META"): ":4: META: expected a section",
    NATIVE.replace("ADMISSIBLE_PATHS (", "LINKS ("): ":28: LINKS a second time, first in line 17",
    NATIVE.replace("unit =", "unit"): ':6: unit MBITPERSEC: expected "KEY = VALUE"',
    NATIVE.replace("MBITPERSEC", "FURLONGS"): ":6: unit: FURLONGS is not known; expected BITPERSEC",
    NATIVE.replace("( 10.12 54.32 )", "( 10.12 )"): ':13: Kiel ( 10.12 ): expected "NODE',
    NATIVE.replace("10.12 54.32", "10.12 north"): ":13: coordinate: north: expected a number",
    NATIVE.replace("  Port\n", "  Kiel\n"): ":14: the node Kiel is in line 13 already",
    NATIVE.replace("  Port\n", "  Bonn-west\n").replace("Kiel Port", "Kiel Bonn-west"): ":14: two nodes would be called Bonn-west",
    NATIVE.replace("( Kiel Port )", "( Kiel Prot )"): ":20: there is no node Prot; did you mean Port?",
    NATIVE.replace("( Kiel Port )", "( Kiel Kiel )"): ":20: L3 goes from Kiel to itself",
    NATIVE.replace("1000.50 0.00 0.00 0.00 ( )", "1000.50 0.00"): ':20: L3 ( Kiel Port ) 1000.50 0.00: expected "LINK',
    NATIVE.replace("( 40000.00 133.00 )", "( 40000.00 )"): ":18: L1 ( Ulm Bonn.west )",
    NATIVE.replace("1000.50", "-1"): ":20: capacity: -1: expected a number from 0",
    NATIVE.replace("1000.50", "nan"): ":20: capacity: nan: expected a number",
    NATIVE.replace("1000.50", "0"): ":20: the link L3 has no capacity; expected --rate",
    NATIVE.replace("1000.50", "0.0000005"): ":20: link.Kiel->Port.rate: ",
    NATIVE.replace("( Kiel Port )", "( Kiel Ulm )"): ": no path leads from node Ulm to node Port",
    NATIVE.replace(" 1 80.00 UNLIMITED", " 1"): ':24: D1 ( Ulm Kiel ) 1: expected "DEMAND',
    NATIVE[: NATIVE.index("DEMANDS (") + 20]: ":24: D1 ( Ulm: expected",
    NATIVE[: NATIVE.index("ADMISSIBLE_PATHS")] + "ADMISSIBLE_PATHS (\n D1 (\n": ":29: the file ends in the section ADMISSIBLE_PATHS",
    HEAD: ": no nodes; expected a network file",
}  # fmt: skip


def refused(path, expected, *options):
    done = CliRunner().invoke(app, ["import-sndlib", str(path), *options])
    assert done.exit_code == 2, done.output
    assert f"{path}{expected}" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("text", WRONG_NATIVE)
def test_wrong_native_files_are_refused_with_their_line(write, text):
    refused(write(text), WRONG_NATIVE[text])


WRONG_XML = {
    "<graphml/>": ":1: the root is graphml; expected network",
    "<network": ":1: is not valid XML",
    XML.replace("</nodes>", "</node>"): ":13: is not valid XML: mismatched tag",
    XML.replace('<node id="Port"/>', "<node/>"): ":12: a node has no id",
    XML.replace('<node id="Port"/>', '<node id="Kiel"/>'): ":12: the node Kiel is in line 11 already",
    XML.replace("<target>Port</target>", "<target>Prot</target>"): ":27: there is no node Prot; did you mean Port?",
    XML.replace("<target>Port</target>", ""): ":27: the link L3 has no target",
    XML.replace("<y>54.32</y>", ""): ":11: coordinate: : expected a number",
    XML.replace("<y>54.32</y>", "<y>1</y><y>2</y>"): ":11: y a second time",
    XML.replace("1000.50", "much"): ":30: capacity: much: expected a number",
    XML.replace("<demandValue>80.0</demandValue>", ""): ":34: the demand D1 has no demandValue",
    XML.replace("MBITPERSEC", "FURLONGS"): ":4: unit: FURLONGS is not known",
    "<network>" + "<a>" * 200 + "</a>" * 200 + "</network>": ":1: elements are nested more than 100 deep",
}


@pytest.mark.parametrize("text", WRONG_XML)
def test_wrong_xml_files_are_refused_with_their_line(write, text):
    refused(write(text, "net.xml"), WRONG_XML[text])


OPTIONS = {
    ("--unit", "1"): ": --unit: ",
    ("--unit", "0bps"): ": --unit: 0bps is not accepted; expected at least 1bps",
    ("--delay", "far"): ": --delay: ",
    ("--route-factor", "0"): ": --route-factor: 0.0 is not accepted",
    ("--route-factor", "nan"): ": --route-factor: nan is not accepted",
    ("--hosts-per-node", "0"): ": --hosts-per-node: 0 is not accepted; expected 1 to 1000",
    ("--host-rate", "1furlong"): ": --host-rate: ",
    ("--flows", "--scale", "0"): ": --scale: 0.0 is not accepted",
    ("--flows", "--scale", "inf"): ": --scale: inf is not accepted",
    ("--flows", "--scale", "1e-12"): ": no demand has a byte to send",
    ("--flows", "--scale", "1e9"): ":24: more than 5000000 flows up to here",
    ("--flows", "--duration", "0s"): ": --duration: 0s is not accepted; expected 1ns to 3600s",
    ("--flows", "--duration", "2h"): ": --duration: ",
    ("--flows", "--size", "0B"): ": --size: 0B is not accepted",
}


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_wrong_options_are_refused(write, options):
    refused(write(NATIVE), OPTIONS[options], *options)


def test_a_file_without_demands_has_no_flows(write):
    text = NATIVE[: NATIVE.index("DEMANDS (")]
    refused(write(text), ": the file has no demands", "--flows")
