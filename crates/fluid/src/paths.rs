//! Links that flows take one after the other, where pauses may spread from the later one to the earlier one: in a circle they may block
//! each other for ever.

/// By link the links that flows take after it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Paths {
    next: Vec<Vec<u32>>,
    /// Number of pairs of links so far.
    pairs: u32,
    /// By link, how many there were when no circle was reached from it.
    searched: Vec<u32>,
}

impl Paths {
    /// No flow has begun in a network of so many links.
    pub fn new(links: usize) -> Paths {
        Paths { next: vec![Vec::new(); links], pairs: 1, searched: vec![0; links] }
    }

    /// A flow takes one link after another.
    pub fn note(&mut self, before: u32, link: u32) {
        let next = &mut self.next[before as usize];
        if !next.contains(&link) {
            next.push(link);
            self.pairs += 1;
        }
    }

    /// Links of which each leads to the next, and the last to the first, on the way from a link; `None` without any.
    pub fn find_circle(&mut self, link: u32) -> Option<Vec<u32>> {
        if self.searched.get(link as usize).is_none_or(|pairs| *pairs == self.pairs) {
            return None;
        }
        // In depth, with the place in the list of each link on the way; links that are done lead to no circle.
        let (mut way, mut done) = (vec![(link, 0)], vec![false; self.next.len()]);
        while let Some((last, place)) = way.last_mut() {
            let Some(next) = self.next[*last as usize].get(*place).copied() else {
                done[*last as usize] = true;
                way.pop();
                continue;
            };
            *place += 1;
            if let Some(begin) = way.iter().position(|(on_way, _)| *on_way == next) {
                return Some(way.drain(begin..).map(|(link, _)| link).collect());
            }
            if !done[next as usize] {
                way.push((next, 0));
            }
        }
        self.searched[link as usize] = self.pairs;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_from_the_links_that_lead_to_them() {
        let mut paths = Paths::new(8);
        for (before, link) in [(0, 1), (1, 2), (2, 3), (1, 3), (3, 4)] {
            paths.note(before, link);
        }
        assert_eq!((0..8).find_map(|link| paths.find_circle(link)), None);
        paths.note(4, 2);
        paths.note(4, 2);
        assert_eq!(paths.find_circle(0), Some(vec![2, 3, 4]));
        assert_eq!(paths.find_circle(4), Some(vec![4, 2, 3]));
        assert_eq!(paths.find_circle(5), None);
    }
}
