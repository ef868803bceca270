//! Parallel links: several that join the same nodes. All tables, series and traces call the first of them as if it were the only one, the
//! others `NODE->PEER#2`, ….

use farloop_net::spec::LinkSpec;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// By egress port, two for each link: which of the links that join its nodes it belongs to, from 1.
pub(crate) fn parallel(links: &[LinkSpec]) -> Vec<u32> {
    let mut seen: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let ends = links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
    ends.map(|ends| *seen.entry(ends).and_modify(|count| *count += 1).or_insert(1)).collect()
}

/// Splits a name of [`numbered`] into a neighbour and the number of the link to it, from 1. Names of nodes have no "#".
pub(crate) fn peer_and_number(text: &str) -> (&str, Option<u32>) {
    let text = text.trim();
    match text.rsplit_once('#').map(|(peer, which)| (peer, which.parse())) {
        Some((peer, Ok(which))) => (peer, Some(which)),
        _ => (text, None),
    }
}

/// The neighbour at the other end of a port: of several links to it the second is that to "NAME#2".
pub(crate) fn neighbour_name(peer: &str, which: u32) -> Cow<'_, str> {
    if which > 1 { format!("{peer}#{which}").into() } else { peer.into() }
}
