//! Memory that a run may still take: so that a network with too many packets in flight is an error and no abort.
//!
//! It is the memory that the machine (`/proc/meminfo`), the control groups of the process and its own limit of address space (`ulimit -v`)
//! leave, less a reserve for the growth between two looks. Where none of these can be read, as outside of Linux, nothing is refused.
//!
//! A look opens six files, 50 us and more: as much as the work of a short window of a simulation in parts. So a run looks by wall time
//! ([`Pace`]), once for all of its parts, and an arena looks when it is about to double.

use farloop_engine::clock::Instant;
use farloop_units::Time;
use std::fmt;
use std::fs::read_to_string;
use std::path::Path;
use std::time::Duration;

/// Bytes that packets may take between two looks: a thread makes less than 3 GB of them in a second.
const RESERVE: u64 = 256 << 20;
/// Wall time between two looks.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Too many packets are in flight for the memory of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    /// Simulated time at which the run stopped.
    pub now: Time,
    /// Packets in queues and on links.
    pub packets: u64,
    /// Bytes of memory that they take.
    pub bytes: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, gb) = (self.now.as_secs_f64() * 1e3, self.bytes as f64 / 1e9);
        write!(
            f,
            "out of memory after {ms:.3} ms of the run: {} packets in queues and on links take {gb:.2} GB",
            self.packets
        )
    }
}
impl std::error::Error for OutOfMemory {}

/// The bound on the memory of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory {
    /// The memory that the machine leaves, less so many bytes.
    Machine { reserve: u64 },
    /// So many bytes for packets.
    Bytes(u64),
}

impl Memory {
    /// The memory of the machine, of which a quarter at most is held in reserve.
    pub fn machine() -> Memory {
        Memory::Machine { reserve: available().map_or(0, |bytes| RESERVE.min(bytes / 4)) }
    }

    /// Returns true if the machine has nothing left, however much packets take; reads its files.
    pub fn is_used_up(self) -> bool {
        matches!(self, Memory::Machine { .. }) && self.room(0) == 0
    }

    /// Returns true if this bounds the bytes of packets themselves, and `held` bytes reach the bound; reads no file.
    pub fn is_reached_by(self, held: impl FnOnce() -> u64) -> bool {
        matches!(self, Memory::Bytes(bytes) if held() >= bytes)
    }

    /// Bytes that packets may take beyond the `held` ones.
    pub fn room(self, held: u64) -> u64 {
        match self {
            Memory::Machine { reserve } => available().map_or(u64::MAX, |bytes| bytes.saturating_sub(reserve)),
            Memory::Bytes(bytes) => bytes.saturating_sub(held),
        }
    }
}

/// Says when something is due again that is too dear for each window.
#[derive(Debug)]
pub(crate) struct Pace {
    every: Duration,
    last: Instant,
}

impl Pace {
    /// Due for the first time `every` after `now`.
    pub fn new(every: Duration, now: Instant) -> Pace {
        Pace { every, last: now }
    }

    /// Returns true if it is due at `now`; if so, it is due again after as long.
    #[inline]
    pub fn is_due(&mut self, now: Instant) -> bool {
        let due = now.saturating_duration_since(self.last) >= self.every;
        if due {
            self.last = now;
        }
        due
    }
}

/// Bytes that this process can still have: the least that the machine, its control group and its limit of address space leave; `None`
/// where none of these can be read.
pub fn available() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable:"));
    let limits = [machine, address_space(), control_group(Path::new("/sys/fs/cgroup"))];
    limits.into_iter().flatten().min()
}

/// Bytes of memory for this process, free or not: the least of the machine's and of the limits of its control group and its address space;
/// `None` where none of these can be read.
pub fn total() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemTotal:"));
    let limits = [machine, address_limit(), control_limit(Path::new("/sys/fs/cgroup"))];
    limits.into_iter().flatten().min()
}

/// The number behind a word, in kB as `/proc` gives it, in bytes.
fn kilobytes(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes that `ulimit -v` leaves.
fn address_space() -> Option<u64> {
    let most = address_limit()?;
    let used = kilobytes(&read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(most.saturating_sub(used))
}

/// The limit of `ulimit -v`, in bytes.
fn address_limit() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok() // "unlimited" is no number
}

/// The limit of a container's memory controller, in bytes.
fn control_limit(root: &Path) -> Option<u64> {
    let number = |path: &str| read_to_string(root.join(path)).ok()?.trim().parse::<u64>().ok(); // "max" is no number
    number("memory.max").or_else(|| number("memory/memory.limit_in_bytes"))
}

/// Bytes that the memory controller of a container leaves; pages of files that it would give back count as free.
fn control_group(root: &Path) -> Option<u64> {
    let number = |path: &Path| read_to_string(path).ok()?.trim().parse::<u64>().ok(); // "max" is no number
    let second = (root.join("memory.max"), root.join("memory.current"), root.join("memory.stat"));
    let first = root.join("memory");
    let first = (first.join("memory.limit_in_bytes"), first.join("memory.usage_in_bytes"), first.join("memory.stat"));
    [second, first].into_iter().find_map(|(limit, usage, stat)| {
        let (limit, usage) = (number(&limit)?, number(&usage)?);
        let stat = read_to_string(stat).ok()?;
        let word = |word: &str| stat.lines().find_map(|line| line.strip_prefix(word)?.trim().parse::<u64>().ok());
        let files = word("total_inactive_file ").or_else(|| word("inactive_file ")).unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(files)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_files_of_linux() {
        let text = "MemTotal:       24684084 kB\nMemAvailable:   22310484 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(22_310_484 * 1024));
        assert_eq!(kilobytes(text, "VmSize:"), None);
        #[cfg(target_os = "linux")]
        assert!(available().is_some_and(|bytes| bytes > 1 << 20 && total() > Some(bytes)));
    }

    #[test]
    fn many_windows_share_one_look() {
        let begin = Instant::now();
        let mut pace = Pace::new(Duration::from_millis(10), begin);
        let windows = |ms: std::ops::Range<u64>| ms.flat_map(|ms| (0..1000).map(move |us| ms * 1000 + us));
        let looks = windows(0..100).filter(|us| pace.is_due(begin + Duration::from_micros(*us))).count();
        assert_eq!(looks, 9, "in 100,000 windows of a microsecond each");
        assert!(pace.is_due(begin + Duration::from_secs(5)) && !pace.is_due(begin + Duration::from_secs(5)));
    }

    #[test]
    fn a_limit_of_bytes_needs_no_file() {
        let limit = Memory::Bytes(100);
        assert!(!limit.is_reached_by(|| 99) && limit.is_reached_by(|| 100) && !limit.is_used_up());
        let machine = Memory::Machine { reserve: u64::MAX };
        assert!(!machine.is_reached_by(|| u64::MAX));
        #[cfg(target_os = "linux")]
        assert!(machine.is_used_up());
    }

    #[test]
    fn reads_both_kinds_of_control_groups() {
        let root = std::env::temp_dir().join(format!("farloop-memory-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("writable");
            std::fs::write(path, text).expect("writable");
        };
        assert_eq!(control_group(&root), None);
        write("memory/memory.limit_in_bytes", "1000\n");
        write("memory/memory.usage_in_bytes", "700\n");
        write("memory/memory.stat", "cache 5\ntotal_inactive_file 100\n");
        assert_eq!((control_group(&root), control_limit(&root)), (Some(400), Some(1000)));
        write("memory.max", "max\n");
        write("memory.current", "7\n");
        write("memory.stat", "inactive_file 1\n");
        assert_eq!(control_group(&root), Some(400), "\"max\" bounds nothing");
        write("memory.max", "500\n");
        assert_eq!((control_group(&root), control_limit(&root)), (Some(494), Some(500)));
        std::fs::remove_dir_all(&root).expect("removable");
    }
}
