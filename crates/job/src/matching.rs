//! The matching of messages and receives.
//!
//! The n-th message of a source and tag goes to the n-th receive posted for them, whatever order the network delivers in (MPI's rule that
//! messages do not overtake one another). A rank with a receive for any source or tag takes messages in the order of their arrival, by the
//! first posted receive that fits.

use crate::job::ANY;
use std::collections::{HashMap, VecDeque};

/// A message on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The rank that sends it.
    pub from: u32,
    /// Its tag.
    pub tag: u32,
    /// Its size.
    pub bytes: u64,
    /// Number of messages of this pair and tag sent before it.
    pub order: u64,
    /// The operation that sends it, of its rank.
    pub operation: u32,
}

/// Posted receives and messages that no receive has taken yet.
#[derive(Debug, Default)]
pub struct Mailbox {
    /// By source and tag; never iterated.
    channels: HashMap<(u32, u32), Channel>,
    /// Of a rank with wildcards.
    lists: Option<Lists>,
}

#[derive(Debug, Default)]
struct Channel {
    posted: u64,
    waiting: VecDeque<(u64, u32)>,
    arrived: VecDeque<Message>,
}

#[derive(Debug, Default)]
struct Lists {
    waiting: Vec<(u32, u32, u32)>,
    arrived: Vec<Message>,
}

impl Mailbox {
    /// An empty one; `wildcards` where some receive takes any source or tag.
    pub fn new(wildcards: bool) -> Mailbox {
        Mailbox { channels: HashMap::new(), lists: wildcards.then(Lists::default) }
    }

    /// Posts a receive; gives the message that it takes, where that has come.
    pub fn post(&mut self, operation: u32, from: u32, tag: u32) -> Option<Message> {
        if let Some(lists) = &mut self.lists {
            let place = lists.arrived.iter().position(|m| fits(from, tag, m));
            return match place {
                Some(at) => Some(lists.arrived.remove(at)),
                None => {
                    lists.waiting.push((operation, from, tag));
                    None
                }
            };
        }
        let channel = self.channels.entry((from, tag)).or_default();
        let order = channel.posted;
        channel.posted += 1;
        let place = channel.arrived.iter().position(|m| m.order == order);
        match place.and_then(|at| channel.arrived.remove(at)) {
            Some(message) => Some(message),
            None => {
                channel.waiting.push_back((order, operation));
                None
            }
        }
    }

    /// Takes a message; gives the receive that waits for it.
    pub fn arrive(&mut self, message: Message) -> Option<u32> {
        if let Some(lists) = &mut self.lists {
            let place = lists.waiting.iter().position(|&(_, from, tag)| fits(from, tag, &message));
            return match place {
                Some(at) => Some(lists.waiting.remove(at).0),
                None => {
                    lists.arrived.push(message);
                    None
                }
            };
        }
        let channel = self.channels.entry((message.from, message.tag)).or_default();
        let place = channel.waiting.iter().position(|&(order, _)| order == message.order);
        match place.and_then(|at| channel.waiting.remove(at)) {
            Some((_, operation)) => Some(operation),
            None => {
                channel.arrived.push_back(message);
                None
            }
        }
    }

    /// Returns true if a receive is posted that will take this message; with wildcards, if one fits.
    pub fn expects(&self, from: u32, tag: u32, order: u64) -> bool {
        if let Some(lists) = &self.lists {
            return lists.waiting.iter().any(|&(_, f, t)| (f == ANY || f == from) && (t == ANY || t == tag));
        }
        self.channels.get(&(from, tag)).is_some_and(|c| c.waiting.iter().any(|&(o, _)| o == order))
    }

    /// The receive that has waited longest; the one that comes first in the program where several are equal.
    pub fn first_waiting(&self) -> Option<u32> {
        let listed = self.lists.iter().flat_map(|l| l.waiting.iter().map(|w| w.0));
        // A minimum is the same in any order of the map.
        self.channels.values().flat_map(|c| c.waiting.iter().map(|w| w.1)).chain(listed).min()
    }
}

fn fits(from: u32, tag: u32, message: &Message) -> bool {
    (from == ANY || from == message.from) && (tag == ANY || tag == message.tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u32, tag: u32, order: u64) -> Message {
        Message { from, tag, bytes: 1, order, operation: order as u32 }
    }

    #[test]
    fn messages_of_a_pair_do_not_overtake() {
        let mut mailbox = Mailbox::new(false);
        assert_eq!(mailbox.post(10, 1, 0), None);
        assert_eq!(mailbox.post(11, 1, 0), None);
        // The second comes first, and goes to the second receive.
        assert_eq!(mailbox.arrive(message(1, 0, 1)), Some(11));
        assert_eq!(mailbox.arrive(message(1, 0, 0)), Some(10));
        assert_eq!(mailbox.arrive(message(1, 0, 3)), None);
        assert_eq!(mailbox.post(12, 1, 0), None);
        assert_eq!(mailbox.post(13, 1, 0), Some(message(1, 0, 3)));
        assert!(mailbox.expects(1, 0, 2) && !mailbox.expects(1, 0, 3));
        assert_eq!(mailbox.first_waiting(), Some(12));
    }

    #[test]
    fn any_takes_what_comes_first() {
        let mut mailbox = Mailbox::new(true);
        assert_eq!(mailbox.post(10, ANY, 5), None);
        assert_eq!(mailbox.post(11, 2, ANY), None);
        assert_eq!(mailbox.arrive(message(2, 4, 0)), Some(11));
        assert_eq!(mailbox.arrive(message(2, 4, 1)), None);
        assert_eq!(mailbox.arrive(message(3, 5, 0)), Some(10));
        assert_eq!(mailbox.post(12, ANY, ANY), Some(message(2, 4, 1)));
    }
}
