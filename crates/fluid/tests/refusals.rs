//! Each feature that rates do not have is refused by its key.

use crate::common::{algorithm, equal_star, flow, star, switch};
use farloop_cc::AnyParams;
use farloop_fluid::{Error, Model, Settings, Simulation, Stopped, check};
use farloop_network::spec::{
    AgentSpec, DisciplineSpec, Ecmp, IntCarriage, LcmpSpec, LinkChange, LinkEventSpec, LinkEvents, LinkPfc, LinkSpec,
    NetworkSpec, NodeKind, PfcSpec, StallSpec, SwitchSpec, TransportKind, TransportSpec, XoffSpec,
};
use farloop_units::{Bytes, Delta, Rate};

fn plain() -> NetworkSpec {
    equal_star(3, algorithm("dctcp"), vec![flow(0, 1, 1_000), flow(1, 2, 1_000)])
}

fn with_switch(switch: SwitchSpec) -> NetworkSpec {
    let mut spec = plain();
    spec.nodes[3].kind = NodeKind::Switch(switch);
    spec
}

fn with_transport(transport: TransportSpec) -> NetworkSpec {
    NetworkSpec { transport, ..plain() }
}

fn with_algorithm(algorithm: AnyParams) -> NetworkSpec {
    NetworkSpec { algorithms: vec![algorithm], ..plain() }
}

fn themis() -> AgentSpec {
    AgentSpec { params: farloop_cc::agents::agent("themis").expect("known"), switches: vec![0] }
}

#[test]
fn features_that_rates_do_not_have_are_refused_by_key() {
    let rdma = || TransportSpec::plain(TransportKind::Rdma);
    let lossy = LinkSpec { loss: 0.1, ..LinkSpec::plain(0, 3, Rate::from_gbps(100), Delta::ZERO) };
    let mut classes = plain();
    classes.flows[1].class = 1;
    let mut random_loss = plain();
    random_loss.links[0] = lossy;
    let mut own_pauses = plain();
    own_pauses.links[0].pfc = LinkPfc::On { headroom: None };
    let cases: Vec<(&str, NetworkSpec)> = vec![
        ("transport.kind", with_transport(TransportSpec::plain(TransportKind::Multipath))),
        ("transport.int_carriage", with_transport(TransportSpec { int_carriage: IntCarriage::Three, ..rdma() })),
        ("transport.control_priority", with_transport(TransportSpec { control_priority: false, ..rdma() })),
        ("switch.ecmp", with_switch(SwitchSpec { ecmp: Ecmp::Packet, ..switch() })),
        ("switch.ecmp", with_switch(SwitchSpec { ecmp: Ecmp::Adaptive, ..switch() })),
        ("switch.ecmp", with_switch(SwitchSpec { ecmp: Ecmp::Lcmp(LcmpSpec::default()), ..switch() })),
        (
            "switch.discipline",
            with_switch(SwitchSpec {
                discipline: DisciplineSpec::DeficitRoundRobin { quantum: Bytes::new(1_500) },
                ..switch()
            }),
        ),
        ("network", random_loss),
        ("network", own_pauses),
        ("flow.class", classes),
        ("hosts.stall", NetworkSpec { stalls: Some(any_stall()), ..plain() }),
        ("agent", NetworkSpec { agents: vec![themis()], ..plain() }),
        ("algorithm.name", with_algorithm(algorithm("mlcc"))),
        ("algorithm.name", with_algorithm(algorithm("annulus"))),
        ("algorithm.name", with_algorithm(algorithm("rccc"))),
        ("event", NetworkSpec { events: one_event(LinkChange::Down), ..plain() }),
        ("event", NetworkSpec { events: one_event(LinkChange::Up), ..plain() }),
        ("event", NetworkSpec { events: one_event(LinkChange::Loss(0.1)), ..plain() }),
        ("event", NetworkSpec { events: one_event(LinkChange::Corruption(0.1)), ..plain() }),
        ("algorithm.name", with_algorithm(algorithm("pcn"))),
        ("algorithm.name", with_algorithm(algorithm("icc"))),
    ];
    for (key, spec) in cases {
        let refusal = check(&spec).expect_err(&format!("{key} {:?}", spec.algorithms[0].describe().name));
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(refusal.expected.starts_with("expected "), "{refusal}");
        match Simulation::build(spec, Settings::default(), &mut || true) {
            Err(Error::Refused(same)) => assert_eq!(same, refusal),
            other => panic!("{key}: {:?}", other.err()),
        }
    }
    assert_eq!(check(&plain()), Ok(()));
    // Rates and delays of links may change, but for the baseline.
    let changes = || NetworkSpec { events: one_event(LinkChange::Delay(Delta::from_us(3))), ..plain() };
    assert_eq!(check(&changes()), Ok(()));
    let settings = Settings { model: Model::MaxMin, ..Settings::default() };
    match Simulation::build(changes(), settings, &mut || true) {
        Err(Error::Refused(refusal)) => assert_eq!(refusal.key, "event", "{refusal}"),
        other => panic!("{:?}", other.err()),
    }
}

fn any_stall() -> StallSpec {
    StallSpec::plain(Delta::from_us(10), Delta::from_ms(1))
}

fn one_event(change: LinkChange) -> LinkEvents {
    let event = LinkEventSpec {
        at: farloop_units::Time::ZERO,
        link: 0,
        direction: farloop_network::spec::Direction::Both,
        change,
    };
    LinkEvents { events: vec![event], ..LinkEvents::default() }
}

/// Packets that come by a link without PFC are dropped where a switch with PFC has no room left for them; rates end the run there.
#[test]
fn a_drop_at_a_switch_with_pfc_ends_the_run() {
    let of_buffer = |kilobytes: u64| {
        let pfc = Some(PfcSpec::plain(XoffSpec::Static(Bytes::new(50_000)), Bytes::new(3_000)));
        let switch = SwitchSpec { pfc, ecn: None, buffer: Bytes::new(kilobytes * 1_000), ..switch() };
        let links = [(Rate::from_gbps(100), Delta::from_us(1)); 3];
        let mut spec = star(&links, switch, algorithm("dctcp"), vec![flow(1, 0, 5_000_000), flow(2, 0, 5_000_000)]);
        // Host 1 is in another datacenter: its link has no PFC.
        for (node, datacenter) in spec.nodes.iter_mut().zip([0, 1, 0, 0]) {
            node.datacenter = Some(datacenter);
        }
        let simulation = Simulation::build(spec, Settings::default(), &mut || true);
        simulation.expect("a network that it takes").run(&mut |_| true)
    };
    match of_buffer(250) {
        Err(Stopped::Refused(refusal)) => {
            assert_eq!(refusal.key, "switch.pfc", "{refusal}");
            assert!(refusal.problem.contains("h1->s, which has no PFC, find no room at s->h0"), "{refusal}");
        }
        other => panic!("{other:?}"),
    }
    assert!(of_buffer(1_000_000).is_ok());
}

/// A caller that wants no more gets no result.
#[test]
fn a_run_can_be_cancelled() {
    let flows = (0..200).map(|i| flow(i % 2, 2, 30_000_000)).collect();
    let simulation = Simulation::build(equal_star(3, algorithm("dctcp"), flows), Settings::default(), &mut || true);
    assert_eq!(simulation.expect("it builds").run(&mut |_| false), Err(Stopped::Cancelled));
}
