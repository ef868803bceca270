//! Refuses agents of the network that cannot act where they are.

use super::{BuildError, port_infos};
use crate::spec::{AgentSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
use farloop_units::Delta;
use std::collections::{BTreeMap, BTreeSet};

impl NetworkSpec {
    /// Checks [`NetworkSpec::agents`]: they are at switches, alone at their ports, and senders hear them.
    ///
    /// # Errors
    /// [`BuildError::Agent`].
    pub(super) fn check_chosen_agents(&self) -> Result<(), BuildError> {
        if self.agents.is_empty() {
            return Ok(());
        }
        let mut taken: BTreeMap<NodeId, &'static str> = BTreeMap::new();
        for (agent, AgentSpec { params, switches }) in self.agents.iter().enumerate() {
            let name = params.info().name;
            let refuse = |problem: String, expected: &str| {
                Err(BuildError::Agent { agent, problem, expected: expected.to_string() })
            };
            for id in switches {
                let Some(NodeSpec { name: switch, kind: NodeKind::Switch(_), .. }) = self.nodes.get(*id as usize)
                else {
                    return refuse(format!("node {id} is no switch"), "expected switches");
                };
                if let Some(other) = taken.insert(*id, name) {
                    let problem = format!("\"{switch}\" has the agent \"{other}\" already");
                    return refuse(problem, "expected one agent at a switch");
                }
            }
            if let Some(deaf) = self.find_deaf() {
                let law = self.algorithms[deaf].describe().name;
                let problem = format!("it sends congestion notification packets, which \"{law}\" does not hear");
                return refuse(
                    problem,
                    "expected algorithms that hear them, such as dcqcn with notification = \"both\" or \"cnp\"",
                );
            }
        }
        self.check_own_agents()
    }

    /// The first algorithm of flows that leave their datacenter which does not hear notifications; agents act on no other flows.
    fn find_deaf(&self) -> Option<usize> {
        let node = |id: NodeId| self.nodes.get(id as usize);
        let across = |src, dst| node(src).zip(node(dst)).is_some_and(|(src, dst)| src.is_across(dst));
        let of_flows = self.flows.iter().filter(|flow| across(flow.src, flow.dst)).map(|flow| flow.algorithm);
        let of_jobs = self.jobs.iter().map(|job| job.cross_algorithm);
        let used: BTreeSet<usize> = of_flows.chain(of_jobs).map(usize::from).collect();
        used.into_iter().find(|algorithm| self.algorithms.get(*algorithm).is_some_and(|law| !law.hears_cnp()))
    }

    /// No algorithm has an agent of its own at these switches.
    fn check_own_agents(&self) -> Result<(), BuildError> {
        let own: Vec<_> = self.algorithms.iter().filter(|algorithm| algorithm.needs().port_agent).collect();
        for (_, port) in port_infos(&self.nodes, &self.links, Delta::ZERO).filter(|_| !own.is_empty()) {
            let NodeSpec { name: switch, kind: NodeKind::Switch(spec), .. } = &self.nodes[port.switch as usize] else {
                continue;
            };
            let Some(agent) = self.agents.iter().position(|agent| agent.switches.contains(&port.switch)) else {
                continue;
            };
            if let Some(other) = own.iter().find(|algorithm| spec.agents && algorithm.port(&port).is_some()) {
                let law = other.describe().name;
                let problem = format!("the algorithm \"{law}\" has an agent of its own at \"{switch}\"");
                let expected = "expected another algorithm, or [algorithm].agents without this switch".to_string();
                return Err(BuildError::Agent { agent, problem, expected });
            }
        }
        Ok(())
    }
}
