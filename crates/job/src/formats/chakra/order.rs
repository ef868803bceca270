//! Orders of nodes: without contradictions, and along streams.

use super::counts::Counts;
use super::lane::Lane;
use crate::error::{JobError, Place};
use crate::job::ProgramBuilder;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Removes control dependencies between nodes that wait for one another, and says how many. Edges are (sooner, later).
pub(super) fn without_contradictions(count: usize, edges: &mut Vec<(u32, u32)>, of_control: &[bool]) -> u64 {
    let component = components(count, edges);
    let mut removed = 0;
    let mut at = 0;
    edges.retain(|&(sooner, later)| {
        let control = of_control[at];
        at += 1;
        let contradicts = control && component[sooner as usize] == component[later as usize];
        removed += u64::from(contradicts);
        !contradicts
    });
    removed
}

/// The strongly connected component of each node (Tarjan, 1972), without recursion.
fn components(count: usize, edges: &[(u32, u32)]) -> Vec<u32> {
    let mut first = vec![0u32; count + 1];
    edges.iter().for_each(|e| first[e.0 as usize + 1] += 1);
    (0..count).for_each(|i| first[i + 1] += first[i]);
    let mut next = vec![0u32; edges.len()];
    let mut fill = first.clone();
    for &(sooner, later) in edges {
        next[fill[sooner as usize] as usize] = later;
        fill[sooner as usize] += 1;
    }
    const NONE: u32 = u32::MAX;
    let (mut index, mut low, mut component) = (vec![NONE; count], vec![0u32; count], vec![NONE; count]);
    let (mut stack, mut walk): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    let (mut numbered, mut components) = (0u32, 0u32);
    for root in 0..count as u32 {
        if index[root as usize] != NONE {
            continue;
        }
        walk.push((root, first[root as usize]));
        while let Some((node, edge)) = walk.last_mut() {
            let here = *node as usize;
            if index[here] == NONE {
                (index[here], low[here]) = (numbered, numbered);
                numbered += 1;
                stack.push(here as u32);
            }
            if *edge < first[here + 1] {
                let other = next[*edge as usize];
                *edge += 1;
                if index[other as usize] == NONE {
                    walk.push((other, first[other as usize]));
                } else if component[other as usize] == NONE {
                    low[here] = low[here].min(index[other as usize]);
                }
                continue;
            }
            if low[here] == index[here] {
                while let Some(member) = stack.pop() {
                    component[member as usize] = components;
                    if member as usize == here {
                        break;
                    }
                }
                components += 1;
            }
            walk.pop();
            if let Some((parent, _)) = walk.last() {
                low[*parent as usize] = low[*parent as usize].min(low[here]);
            }
        }
    }
    component
}

/// Neighbours on a GPU stream follow one another.
pub(super) fn keep_streams(
    path: &str,
    builder: &mut ProgramBuilder,
    mut edges: Vec<(u32, u32)>,
    starts: &[u64],
    lanes: &[Lane],
    counts: &mut Counts,
) -> Result<(), JobError> {
    let streams: Vec<u16> = builder.operations().iter().map(|o| o.stream).collect();
    let kept = |operation: u32| matches!(lanes[usize::from(streams[operation as usize])], Lane::Stream(_));
    if !(0..streams.len() as u32).any(kept) {
        return Ok(());
    }
    edges.sort_unstable();
    let recorded = starts.iter().any(|&s| s > 0);
    let order: Vec<u32> = if recorded {
        let mut order: Vec<u32> = (0..streams.len() as u32).collect();
        order.sort_by_key(|&o| (starts[o as usize], o));
        order
    } else {
        // A cycle is refused by the check of the job; here its nodes have no order.
        by_dependencies(streams.len(), &edges)
    };
    let mut last: Vec<Option<u32>> = vec![None; lanes.len()];
    for operation in order.into_iter().filter(|&o| kept(o)) {
        let stream = usize::from(streams[operation as usize]);
        if let Some(sooner) = last[stream].replace(operation) {
            if edges.binary_search(&(sooner, operation)).is_ok() {
                counts.followed += 1;
            } else if edges.binary_search(&(operation, sooner)).is_ok() {
                let place = |o: u32| builder.operations()[o as usize].place;
                let text = format!("waits for node {}, which began later on the same stream", place(operation));
                return Err(JobError::new(path, Place::Node(place(sooner)), text));
            } else {
                counts.ordered += 1;
                builder.requires(operation, sooner);
            }
        }
    }
    Ok(())
}

/// Positions so that each comes behind those it waits for, else in the order of the file.
fn by_dependencies(count: usize, edges: &[(u32, u32)]) -> Vec<u32> {
    let mut needs = vec![0u32; count];
    for &(_, later) in edges {
        needs[later as usize] += 1;
    }
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..count as u32).filter(|&o| needs[o as usize] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse(operation)) = ready.pop() {
        order.push(operation);
        let begin = edges.partition_point(|e| e.0 < operation);
        for &(_, later) in edges[begin..].iter().take_while(|e| e.0 == operation) {
            needs[later as usize] -= 1;
            if needs[later as usize] == 0 {
                ready.push(Reverse(later));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_dependencies_in_cycles_go_and_no_others() {
        // 0 -> 1 -> 2 -> 1 by control, 2 -> 3 by control.
        let mut edges = vec![(0, 1), (1, 2), (2, 1), (2, 3)];
        assert_eq!(without_contradictions(4, &mut edges, &[true, false, true, true]), 1);
        assert_eq!(edges, [(0, 1), (1, 2), (2, 3)]);
        let mut data = vec![(0, 1), (1, 0)];
        assert_eq!(without_contradictions(2, &mut data, &[false, false]), 0);
    }

    #[test]
    fn components_are_those_of_a_chain_of_rings() {
        let edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2), (5, 5)];
        let component = components(6, &edges);
        assert!(component[0] == component[1] && component[2] == component[3] && component[3] == component[4]);
        assert!(component[0] != component[2] && component[5] != component[2]);
    }
}
