//! Racks between an electrical packet switch and an optical circuit switch (AccelToR, Fig. 1).
//!
//! ```text
//! r1-h1, r1-h2, … ── tor1 ══ (eps_uplinks) ══ eps
//!                      └──────────────────── ocs      and so for every rack
//! ```

use super::{Layout, Misfit, RateKey, Switches, too_large};
use crate::glob;
use crate::sections::Hybrid;
use farloop_net::spec::LinkSpec;
use farloop_units::{Bytes, Delta, Rate};

/// Bytes of packets on the wire: a full one, and an ACK.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub packet: Bytes,
    pub ack: Bytes,
}

/// Delays of the links to the packet switch and to the circuit switch; the key at fault where there are none.
fn delays(keys: &Hybrid, sizes: Sizes) -> Result<(Delta, Delta), Misfit> {
    let host = keys.link_delay.as_ps();
    let over = |size: Bytes, links: &[Rate]| links.iter().map(|rate| rate.time_to_send(size).as_ps()).sum::<u64>();
    let by_packets = [keys.rate, keys.eps_rate, keys.eps_rate, keys.rate];
    let back = over(sizes.ack, &by_packets);
    let sent = over(sizes.packet, &by_packets) + back;
    let eps = keys.packet_rtt.as_ps().checked_sub(sent + 4 * host).ok_or_else(|| {
        let problem = "leaves no time for the links to the packet switch".to_string();
        ("packet_rtt", problem, "expected more, a shorter link_delay or higher rates".to_string())
    })?;
    let eps = eps / 4;
    let sent = over(sizes.packet, &[keys.rate, keys.circuit_rate, keys.rate]) + back;
    // The hosts' links there and back, and the packet switch on the way back.
    let ocs = keys.circuit_rtt.as_ps().checked_sub(sent + 4 * host + 2 * eps).ok_or_else(|| {
        let problem = "leaves no time for the links to the circuit switch: ACKs come back through the packet switch";
        ("circuit_rtt", problem.to_string(), "expected more, a shorter packet_rtt or higher rates".to_string())
    })?;
    Ok((Delta::from_ps(eps), Delta::from_ps(ocs / 2)))
}

/// Checks that a network of these keys can be simulated.
pub(crate) fn check(keys: &Hybrid) -> Result<(), Misfit> {
    let hosts = u64::from(keys.racks) * u64::from(keys.hosts_per_rack);
    let links = hosts + u64::from(keys.racks) * (u64::from(keys.eps_uplinks) + 1);
    if let Some((problem, expected)) = too_large(hosts, links) {
        return Err(("racks", problem, expected));
    }
    if keys.host_loss == 0.0 && keys.lossy_hosts != Hybrid::default().lossy_hosts {
        let problem = "no link loses packets with host_loss = 0".to_string();
        return Err(("lossy_hosts", problem, "expected host_loss, or lossy_hosts = \"*\"".to_string()));
    }
    Ok(())
}

/// Nodes and links.
pub(crate) fn layout(keys: &Hybrid, sizes: Sizes, switches: &Switches<'_>) -> Result<Layout, Misfit> {
    let mut layout = Layout::default();
    let (eps_delay, ocs_delay) = delays(keys, sizes)?;
    let eps = layout.switch("eps", 0, switches);
    let ocs = layout.circuit("ocs", 0);
    let mut any = false;
    for rack in 1..=keys.racks {
        let tor = layout.switch(format!("tor{rack}"), 0, switches);
        for i in 1..=keys.hosts_per_rack {
            let host = layout.host(format!("r{rack}-h{i}"), 0);
            let lossy = glob::matches(&keys.lossy_hosts, &format!("r{rack}-h{i}"));
            any |= lossy;
            let loss = if lossy { keys.host_loss } else { 0.0 };
            let link = LinkSpec { a: host, b: tor, rate: keys.rate, delay: keys.link_delay, loss, corruption: 0.0 };
            layout.lossy_link(link, RateKey::Network("rate"));
        }
        for _ in 0..keys.eps_uplinks {
            layout.link(tor, eps, keys.eps_rate, "eps_rate", eps_delay);
        }
        layout.link(tor, ocs, keys.circuit_rate, "circuit_rate", ocs_delay);
        layout.bottlenecks.extend([(tor, eps, 0), (eps, tor, 0), (tor, ocs, 0)]);
    }
    if !any {
        let problem = format!("no host is called \"{}\"", keys.lossy_hosts);
        return Err(("lossy_hosts", problem, "expected names or patterns of hosts, such as \"r2-*\"".to_string()));
    }
    Ok(layout)
}
