"""A short run of every figure: each judge and each picture copes with what its scenario records."""

import pytest

import farloop
from farloop.experiments.threads import Job, simulate
from farloop.experiments.variants import Variant, make_run
from farloop.judging.claims import read_claims
from farloop.judging.verdicts import add_verdicts
from farloop.scenario import Scenario, figure_names
from farloop.views.figures import draw

DURATIONS = {
    "icc/incast": "7ms",
    "icc/loads": "7ms",
    "gear/excess": "60ms",
    "gear/fig02": "100ms",
    "gear/fig10": "3.2s",
    "gear/fig11": "7s",
    "gear/fig12": "100ms",
    "gear/fig13": "100ms",
    "gear/fig06": "60ms",
    "gear/fabric": "60ms",
    "gemini/theorem1": "200ms",
    "mlcc/fig02": "12ms",
    "mlcc/fig03": "12ms",
    "mlcc/fig04": "12ms",
    "mlcc/convergence": "12ms",
    "mlcc/buffers": "12ms",
    "mlcc/loads": "15ms",
    "mlcc/testbed": "10ms",
    "acceltor/fig05": "5ms",
    "acceltor/fig08": "4ms",
    "acceltor/fig09": "4ms",
    "acceltor/fig13": "4ms",
    "acceltor/fig14": "4ms",
    "acceltor/fig15": "4ms",
    "acceltor/fig16": "4ms",
    "acceltor/fig17": "4ms",
    "mrc/collectives": "10ms",
    "mrc/failures": "6ms",
    "mrc/traffic": "20ms",
}
SLOW = {"network.rate": "1Gbps", "network.bottleneck_rate": "1Gbps", "record.interval": "10ms"}
# At 1 Gbps a second takes no time; where initial rates are above that, a tenth of a second at full rate has to do.
SETTINGS = {
    "icc/incast": {},
    "icc/loads": {},
    "gear/fig10": SLOW | {"flow.intra1.initial_rate": "500Mbps", "flow.cross.initial_rate": "500Mbps"},
    "gear/excess": {},
    "gear/fig12": {},
    "gear/fig16": {},
    "gear/fig13": {"network.rate": "1Gbps", "network.wan_rate": "4Gbps"},
    "gear/fig17": {"network.rate": "1Gbps"},
    "gear/fig06": {"network.rate": "1Gbps", "network.wan_rate": "4Gbps"},
    "gear/fabric": {"network.rate": "1Gbps", "network.wan_rate": "4Gbps"},
}
SETTINGS |= {figure: {} for figure in figure_names() if figure.startswith(("mlcc/", "mrc/", "uec/", "uno/"))}
# Few racks: only that something comes of it counts here.
SETTINGS |= {figure: {"network.racks": "4"} for figure in figure_names() if figure.startswith("acceltor/")}


@pytest.mark.sampled
@pytest.mark.parametrize("figure", figure_names())
def test_judges_decide_from_runs(figure, tmp_path):
    testbed = figure.startswith("gemini/") and figure != "gemini/theorem1"
    settings = ({} if testbed else SETTINGS.get(figure, SLOW)) | {"run.duration": DURATIONS.get(figure, "300ms")}
    base = Scenario.load(figure).override(settings)
    names = base.resolved["figure"]["algorithms"][:1]
    scenario = base.override(algorithm=names[0])
    case = scenario.resolved["case"][0]["name"]
    (simulated,) = simulate([Job(figure, scenario)])
    run = make_run(simulated, Variant(names[0], case, names[0], scenario))
    judged = add_verdicts(farloop.Comparison(figure, [run]), scenario)
    assert [c["id"] for c in judged.claims] == [c.id for c in read_claims(scenario.resolved)]
    assert all(c["verdict"] in ("partial", "not judged") and c["statements"] for c in judged.claims)
    assert all("judge failed" not in c["verdict_text"] for c in judged.claims)
    draw.draw(judged, tmp_path)
    assert list(tmp_path.glob("*.png"))
