//! Measures the processors that are free for this run.

use crate::clock::Instant;
use std::cell::OnceCell;
use std::time::Duration;

/// Wall time between two looks.
const EVERY: Duration = Duration::from_millis(5);
/// Number of looks of which the least counts: a thread that runs for a moment only is no load.
const LOOKS: usize = 3;

/// Processors, and how many threads of others want them.
pub(crate) struct Load {
    /// Looked up on first use: most runs have one thread.
    processors: OnceCell<Processors>,
    /// Threads of others in the last looks.
    others: [usize; LOOKS],
    looks: usize,
    last: Instant,
}

/// Processors of the machine, and those that this process may use.
#[derive(Clone, Copy, Debug)]
struct Processors {
    machine: usize,
    allowed: usize,
}

impl Processors {
    fn new() -> Processors {
        // Counts the processors of the affinity mask, and the quota of a control group.
        let allowed = std::thread::available_parallelism().map_or(1, usize::from);
        Processors { machine: online().unwrap_or(allowed), allowed }
    }
}

impl Load {
    pub fn new() -> Load {
        Load { processors: OnceCell::new(), others: [0; LOOKS], looks: 0, last: Instant::now() }
    }

    /// Counts, now and then, the threads that run beside the `own` threads of this run.
    pub fn look(&mut self, now: Instant, own: usize) {
        if now.saturating_duration_since(self.last) >= EVERY {
            self.last = now;
            self.count(running().unwrap_or(0).saturating_sub(own));
        }
    }

    fn count(&mut self, others: usize) {
        self.others[self.looks % LOOKS] = others;
        self.looks += 1;
    }

    /// Processors for threads of this run, at least one.
    pub fn free(&self) -> usize {
        // Which processors the others want is not known.
        let others = self.others.iter().copied().min().unwrap_or(0);
        let Processors { machine, allowed } = *self.processors.get_or_init(Processors::new);
        allowed.min(machine.saturating_sub(others)).max(1)
    }
}

/// Number of processors that are free for threads of a run that begins now, at least one: of those that the process may
/// use, and of those of the machine that nobody else uses. Looks three times within some milliseconds. Where the system
/// gives no numbers, all count as free.
pub fn free_processors() -> usize {
    let mut load = Load::new();
    if load.free() > 1 {
        for look in 0..LOOKS {
            if look > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            load.count(running().unwrap_or(0).saturating_sub(1));
        }
    }
    load.free()
}

/// Threads that run or want to, of the whole machine and the caller's among them.
fn running() -> Option<usize> {
    parse_running(&std::fs::read_to_string("/proc/loadavg").ok()?)
}

/// "0.20 0.18 0.12 2/80 11206": the first of the pair.
fn parse_running(text: &str) -> Option<usize> {
    text.split_ascii_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

/// Processors of the machine.
fn online() -> Option<usize> {
    parse_online(&std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

/// "0-3,8,10-11": seven.
fn parse_online(text: &str) -> Option<usize> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (last + 1).checked_sub(first)
    };
    text.trim().split(',').map(range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_says() {
        assert_eq!(parse_running("0.20 0.18 0.12 2/80 11206\n"), Some(2));
        assert_eq!(parse_running(""), None);
        assert_eq!(
            (parse_online("0-3,8,10-11\n"), parse_online("0\n"), parse_online("0-\n")),
            (Some(7), Some(1), None)
        );
        #[cfg(target_os = "linux")]
        assert!(running().is_some_and(|threads| threads > 0) && online().is_some());
        assert!((1..=Processors::new().allowed).contains(&free_processors()));
    }

    #[test]
    fn others_count_when_they_stay() {
        let processors = OnceCell::from(Processors { machine: 8, allowed: 4 });
        let mut load = Load { processors, ..Load::new() };
        assert_eq!(load.free(), 4);
        load.count(7);
        load.count(7);
        assert_eq!(load.free(), 4, "for a moment");
        load.count(6);
        assert_eq!(load.free(), 2);
        for _ in 0..LOOKS {
            load.count(100);
        }
        assert_eq!(load.free(), 1, "the caller has to run somewhere");
        load.count(3);
        assert_eq!(load.free(), 4, "as soon as they are gone");
    }
}
