//! Logs of ports: their services and pauses while packets of the flow waited there.

use super::event::Passing;
use super::{Blame, Limit, Segment, Why};
use farloop_units::Time;

/// The transmitter served packets of one flow, without a gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Service {
    pub from: Time,
    pub until: Time,
    /// `None` for frames of the link.
    pub flow: Option<u32>,
}

/// A class was paused.
#[derive(Clone, Copy, Debug)]
struct Pause {
    class: u8,
    from: Time,
    /// [`Time::NEVER`] while it lasts.
    until: Time,
    root: u32,
}

/// The log of one port. [`Ports`] owns it; journals write to it while packets of their flows wait at the port.
#[derive(Default)]
pub(super) struct PortLog {
    /// Services while a journal watched, in order.
    services: Vec<Service>,
    /// The last service, watched or not.
    last: Option<Service>,
    pauses: Vec<Pause>,
    /// Packets of watched flows that wait here, and one more for each of their sources.
    watchers: u32,
}

/// Those of all ports, by number.
#[derive(Default)]
pub(super) struct Ports(Vec<PortLog>);

impl Ports {
    pub fn log(&mut self, port: u32) -> &mut PortLog {
        let index = port as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, PortLog::default);
        }
        &mut self.0[index]
    }

    pub fn get(&self, port: u32) -> Option<&PortLog> {
        self.0.get(port as usize)
    }

    /// A packet of an unwatched flow is put on the link of its port.
    pub fn record_service(&mut self, now: Time, until: Time, packet: &Passing) {
        self.log(packet.port).serve(Service { from: now, until, flow: packet.flow });
    }

    /// Forgets services and pauses that ended before `time`.
    pub fn forget(&mut self, time: Time) {
        for log in &mut self.0 {
            let last = log.services.len().saturating_sub(1);
            let first = log.services.partition_point(|service| service.until < time).min(last);
            log.services.drain(..first);
            log.pauses.retain(|pause| pause.until >= time);
        }
    }
}

impl PortLog {
    /// A packet of a watched flow begins to wait.
    pub fn watch(&mut self) {
        if self.watchers == 0
            && let Some(last) = self.last
        {
            self.keep(last);
        }
        self.watchers += 1;
    }

    /// It waits no more.
    pub fn leave(&mut self) {
        self.watchers = self.watchers.saturating_sub(1);
    }

    /// A packet is put on the link.
    pub fn serve(&mut self, service: Service) {
        if self.watchers > 0 {
            self.keep(service);
        }
        self.last = Some(service);
    }

    fn keep(&mut self, service: Service) {
        match self.services.last_mut() {
            // It was the last one when the packets of the flow that waited before had left.
            Some(last) if last.until >= service.until => {}
            Some(last) if last.flow == service.flow && last.until >= service.from => last.until = service.until,
            _ => self.services.push(service),
        }
    }

    /// A class is paused, or resumes (`root` is `None`).
    pub fn pause(&mut self, now: Time, class: u8, root: Option<u32>) {
        let open = self.pauses.iter_mut().rev().find(|pause| pause.class == class && pause.until == Time::NEVER);
        if let Some(open) = open {
            open.until = now;
        }
        if let Some(root) = root {
            self.pauses.push(Pause { class, from: now, until: Time::NEVER, root });
        }
    }

    /// The link went down: no pause lasts.
    pub fn end_pauses(&mut self, now: Time) {
        for pause in self.pauses.iter_mut().filter(|pause| pause.until == Time::NEVER) {
            pause.until = now;
        }
    }

    /// Why a packet of `flow` waited here (port number `port`) from `from` to `until`: segments in the order of time. `class` is its data
    /// class, if it is data.
    ///
    /// A pause of the class goes before the packets that other classes sent meanwhile: without these it would have waited
    /// all the same. The flow's own packets are not to blame where a rival's went before them without a gap: they were
    /// still there because it had held them up.
    pub fn explain(
        &self,
        port: u32,
        flow: u32,
        class: Option<u8>,
        from: Time,
        until: Time,
        limit: Limit,
    ) -> Vec<Segment> {
        let blame = |why| Blame { why, limit, port: Some(port), rival: None, root: None, entropy: None };
        let mut segments = Vec::new();
        let mut at = from;
        for pause in self.pauses.iter().filter(|pause| Some(pause.class) == class) {
            let (begin, end) = (pause.from.max(at), pause.until.min(until));
            if begin < end {
                self.serving(port, flow, at, begin, limit, &mut segments);
                let blame = Blame { root: Some(pause.root), ..blame(Why::Pause) };
                segments.push(Segment { from: begin, until: end, blame });
                at = end;
            }
        }
        self.serving(port, flow, at, until, limit, &mut segments);
        segments
    }

    /// The same without pauses.
    fn serving(&self, port: u32, flow: u32, from: Time, until: Time, limit: Limit, segments: &mut Vec<Segment>) {
        let blame = |why, rival| Blame { why, limit, port: Some(port), rival, root: None, entropy: None };
        let mut at = from;
        let first = self.services.partition_point(|service| service.until <= from);
        for (i, service) in self.services.iter().enumerate().skip(first) {
            if service.from >= until || at >= until {
                break;
            }
            if service.from > at {
                segments.push(Segment { from: at, until: service.from, blame: blame(Why::Hold, None) });
                at = service.from;
            }
            let end = service.until.min(until);
            let rival = if service.flow == Some(flow) { self.blocking_flow(i, flow) } else { service.flow };
            segments.push(Segment { from: at, until: end, blame: blame(Why::Queue, rival) });
            at = end;
        }
        if at < until {
            segments.push(Segment { from: at, until, blame: blame(Why::Hold, None) });
        }
    }

    /// Whose packets were served directly before the flow's own, which are service `i`; the flow itself if there were none.
    fn blocking_flow(&self, i: usize, flow: u32) -> Option<u32> {
        let before = i.checked_sub(1).map(|before| self.services[before]);
        match before.filter(|before| before.until == self.services[i].from && before.flow.is_some()) {
            Some(before) => before.flow,
            None => Some(flow),
        }
    }
}
