//! Racks between an electrical packet switch and an optical circuit switch (AccelToR, Fig. 1).

use super::declaration::{Example, RoundTrips, TopologyKeys};
use super::layout::{Layout, Misfit, RateKey, Switches, too_large};
use crate::glob;
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_net::spec::LinkSpec;
use farloop_units::{Bytes, Delta, Rate, params};

params! {
    /// `[network]` with `topology = "hybrid"`. The defaults are AccelToR's (§IV-B), with as many links to the packet network as its
    /// published simulation has.
    pub struct Hybrid {
        /// Racks, each with a top-of-rack switch.
        racks: u32 = 8, in 2 => 128;
        /// Hosts in each rack.
        hosts_per_rack: u32 = 16, in 1 => 1024;
        /// Rate of the hosts' links, which the paper does not name. At 10 Gbps windows wait in the hosts, too.
        rate: Rate = Rate::from_gbps(40), in SLOWEST => FASTEST;
        /// Links from each top-of-rack switch to the packet switch.
        eps_uplinks: u32 = 5, in 1 => 64;
        /// Rate of each of these links.
        eps_rate: Rate = Rate::from_gbps(10), in SLOWEST => FASTEST;
        /// Rate of the link from each top-of-rack switch to the circuit switch.
        circuit_rate: Rate = Rate::from_gbps(80), in SLOWEST => FASTEST;
        /// One-way propagation delay of the hosts' links.
        link_delay: Delta = Delta::from_us(1), in Delta::ZERO => MAX_DELAY;
        /// Round-trip time of a full packet and its ACK between hosts of two racks in the empty network, through the packet
        /// switch. It determines the delay of the links to that switch.
        packet_rtt: Delta = Delta::from_us(60), in Delta::ZERO => MAX_DELAY;
        /// Round-trip time of a full packet through the circuit switch and its ACK through the packet switch, in the empty
        /// network. It determines the delay of the links to the circuit switch.
        circuit_rtt: Delta = Delta::from_us(55), in Delta::ZERO => MAX_DELAY;
        /// Probability that a packet is lost on the link of a host, in either direction.
        host_loss: f64 = 0.0, in 0.0 => 1.0;
        /// The hosts whose links lose packets, by name, such as "r2-*" for those of the second rack: "*" matches any characters,
        /// "?" any one.
        lossy_hosts: String = "*".to_string();
    }
}

impl TopologyKeys for Hybrid {
    const DRAWING: &'static str = r#"
r1-h1, r1-h2, … ── tor1 ══ (eps_uplinks) ══ eps
                     └──────────────────── ocs      and so for every rack"#;
    const TEXT: &'static str = r#"
Racks 1, 2, … share an electrical packet switch `eps` and a circuit switch `ocs`, all in datacenter 0. The hosts of rack *i* are r*i*-h1,
r*i*-h2, …; its top-of-rack switch tor*i* has several links to `eps` and one to `ocs`. `[circuits]` sets which ports the circuit switch
connects when, and which packets top-of-rack switches send there. Only elephants take circuits (`elephant` of a `[[flow]]` or a workload);
their ACKs return through `eps`. Switches that schedule circuits need `pfc = false`. The second of parallel links is `tor1->eps#2` in
`[record]`, series, tables and traces; `tor1->eps` is the first."#;
    const EXAMPLES: &'static [Example] = &[Example {
        name: "hybrid",
        keys: "racks = 3\nhosts_per_rack = 2\neps_uplinks = 2",
        pairs: [("r1-h1", "r2-h1"), ("r1-h2", "r3-h2")],
    }];

    fn check(&self) -> Result<(), Misfit> {
        let hosts = u64::from(self.racks) * u64::from(self.hosts_per_rack);
        let links = hosts + u64::from(self.racks) * (u64::from(self.eps_uplinks) + 1);
        if let Some((problem, expected)) = too_large(hosts, links) {
            return Err(("racks", problem, expected));
        }
        if self.host_loss == 0.0 && self.lossy_hosts != Hybrid::default().lossy_hosts {
            let problem = "no link loses packets with host_loss = 0".to_string();
            return Err(("lossy_hosts", problem, "expected host_loss, or lossy_hosts = \"*\"".to_string()));
        }
        Ok(())
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        let mut layout = Layout::default();
        let (eps_delay, ocs_delay) = delays(self, switches)?;
        let eps = layout.switch("eps", 0, switches);
        let ocs = layout.circuit("ocs", 0);
        let mut any = false;
        for rack in 1..=self.racks {
            let tor = layout.switch(format!("tor{rack}"), 0, switches);
            for i in 1..=self.hosts_per_rack {
                let host = layout.host(format!("r{rack}-h{i}"), 0);
                let lossy = glob::matches(&self.lossy_hosts, &format!("r{rack}-h{i}"));
                any |= lossy;
                let loss = if lossy { self.host_loss } else { 0.0 };
                let link = LinkSpec { loss, ..LinkSpec::plain(host, tor, self.rate, self.link_delay) };
                layout.lossy_link(link, RateKey::Network("rate"));
            }
            for _ in 0..self.eps_uplinks {
                layout.link(tor, eps, self.eps_rate, "eps_rate", eps_delay);
            }
            layout.link(tor, ocs, self.circuit_rate, "circuit_rate", ocs_delay);
            layout.bottlenecks.extend([(tor, eps, 0), (eps, tor, 0), (tor, ocs, 0)]);
        }
        if !any {
            let problem = format!("no host is called \"{}\"", self.lossy_hosts);
            return Err(("lossy_hosts", problem, "expected names or patterns of hosts, such as \"r2-*\"".to_string()));
        }
        Ok(layout)
    }

    fn round_trips(&self) -> Option<RoundTrips> {
        Some(RoundTrips { packet: self.packet_rtt, circuit: self.circuit_rtt })
    }
}

/// Delays of the links to the packet switch and to the circuit switch; the key at fault where there are none.
fn delays(keys: &Hybrid, switches: &Switches<'_>) -> Result<(Delta, Delta), Misfit> {
    let host = keys.link_delay.as_ps();
    let over = |size: Bytes, links: &[Rate]| links.iter().map(|rate| rate.time_to_send(size).as_ps()).sum::<u64>();
    let by_packets = [keys.rate, keys.eps_rate, keys.eps_rate, keys.rate];
    let back = over(switches.ack, &by_packets);
    let sent = over(switches.packet, &by_packets) + back;
    let eps = keys.packet_rtt.as_ps().checked_sub(sent + 4 * host).ok_or_else(|| {
        let problem = "leaves no time for the links to the packet switch".to_string();
        ("packet_rtt", problem, "expected more, a shorter link_delay or higher rates".to_string())
    })?;
    let eps = eps / 4;
    let sent = over(switches.packet, &[keys.rate, keys.circuit_rate, keys.rate]) + back;
    // The hosts' links there and back, and the packet switch on the way back.
    let ocs = keys.circuit_rtt.as_ps().checked_sub(sent + 4 * host + 2 * eps).ok_or_else(|| {
        let problem = "leaves no time for the links to the circuit switch: ACKs come back through the packet switch";
        ("circuit_rtt", problem.to_string(), "expected more, a shorter packet_rtt or higher rates".to_string())
    })?;
    Ok((Delta::from_ps(eps), Delta::from_ps(ocs / 2)))
}
