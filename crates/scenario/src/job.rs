//! `[[job]]`: training jobs.

use crate::algorithms;
use crate::diagnostic::Diagnostic;
use crate::names::check_name;
use crate::reader::{Section, names};
use crate::sections::JobKeys;
use farloop_job::Missing;
use farloop_job::generate::Plan;
use farloop_units::Params;

/// Keys of a plan that Chakra traces need as well, where computations have no duration.
pub(crate) const OF_RANKS: [&str; 2] = ["flops", "memory_bandwidth"];

/// A `[[job]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct JobSection {
    /// Its name.
    pub name: String,
    /// The name by which messages and overrides call it.
    pub element: String,
    /// Its own keys.
    pub keys: JobKeys,
    /// Those of its plan.
    pub plan: Plan,
    /// True for each key of `OF_RANKS` that is written.
    pub written: [bool; 2],
}

/// Says how to state a fact that the files of a job lack: by an option of `farloop import-job` or a key of `[[job]]`.
pub fn accepted_for(missing: Missing) -> &'static str {
    match missing {
        Missing::Ranks => {
            "expected --ranks of import-job, or a file that has it: all_gpus: of AICB, world_size of PARAM"
        }
        Missing::Flops => "expected --flops, or flops of the [[job]]: operations of a host per second",
        Missing::MemoryBandwidth => {
            "expected --memory-bandwidth, or memory_bandwidth of the [[job]]: bytes per second of its memory"
        }
        Missing::Groups => "expected groups as well, where Chakra traces do not have the ranks of their groups",
    }
}

/// Reads every `[[job]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<Vec<JobSection>, Diagnostic> {
    let mut jobs: Vec<JobSection> = Vec::new();
    for (number, (element, section)) in root.sections("job")?.into_iter().enumerate() {
        let (own, of_plan) = (JobKeys::specs(), Plan::specs());
        let keys: JobKeys = section.read(&[], &names(&of_plan))?;
        let plan: Plan = section.read(&[], &names(&own))?;
        let name = keys.name.clone().unwrap_or_else(|| format!("job-{}", number + 1));
        check_name(&section, "name", &name)?;
        if jobs.iter().any(|other| other.name == name) {
            return Err(section.diagnostic(
                "name",
                format!("\"{name}\" is the name of another job"),
                "expected another name",
            ));
        }
        let entries = || section.table.iter().flat_map(|t| &t.0);
        let of_plan_only = |key: &str| of_plan.iter().any(|s| s.name == key) && !OF_RANKS.contains(&key);
        if keys.file.is_some()
            && let Some(entry) = entries().find(|e| of_plan_only(&e.key))
        {
            let problem = "is a key of a plan, but file has the job";
            let expected = "expected file, or the keys of a plan";
            return Err(section.document.diagnostic(entry.place, &section.key(&entry.key), problem, expected));
        }
        if keys.file.is_none() && keys.groups.is_some() {
            let problem = "are of Chakra traces, but no file has any";
            return Err(section.diagnostic("groups", problem, "expected file as well"));
        }
        let written = OF_RANKS.map(|key| entries().any(|e| e.key == key));
        if let Some(algorithm) = &keys.algorithm {
            let place = section.table.and_then(|t| t.get("algorithm")).map_or(section.place, |e| e.item.place);
            algorithms::check_name(&section, place, "algorithm", algorithm)?;
        }
        jobs.push(JobSection { name, element, keys, plan, written });
    }
    Ok(jobs)
}
