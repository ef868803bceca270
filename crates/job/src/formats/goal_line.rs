//! Lines of GOAL's text form: their words, and what an operation's line has to look like.

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Compute,
    Send,
    Receive,
}

/// The words of an operation's line, of which numbers are not yet read.
pub(super) struct Syntax<'a> {
    pub kind: Kind,
    pub amount: &'a [u8],
    pub peer: &'a [u8],
    pairs: [(&'a [u8], &'a [u8]); MAX_PAIRS],
    count: usize,
}

/// Options that are kept of a line: of more, one is unknown or comes a second time.
const MAX_PAIRS: usize = 4;

impl<'a> Syntax<'a> {
    /// The words behind a kind of operation, if they are as expected.
    pub fn parse(kind: &[u8], mut words: Words<'a>) -> Option<Syntax<'a>> {
        let (kind, joint): (Kind, &[u8]) = match kind {
            b"calc" => (Kind::Compute, b""),
            b"send" => (Kind::Send, b"to"),
            b"recv" => (Kind::Receive, b"from"),
            _ => return None,
        };
        let is_message = kind != Kind::Compute;
        let mut made = Syntax { kind, amount: words.word(), peer: b"", pairs: [(b"", b""); MAX_PAIRS], count: 0 };
        if is_message {
            made.amount = match made.amount.strip_suffix(b"b") {
                Some(digits) => digits,
                None if words.word() == b"b" => made.amount,
                None => return None,
            };
            if words.word() != joint {
                return None;
            }
            made.peer = words.word();
            if made.peer != b"-1" && !is_number(made.peer) {
                return None;
            }
        }
        if !is_number(made.amount) {
            return None;
        }
        while !words.is_over() {
            let (key, value) = (words.word(), words.word());
            let is_value = is_number(value) || (is_message && value == b"-1");
            if !key.iter().all(u8::is_ascii_lowercase) || !is_value {
                return None;
            }
            if made.count < MAX_PAIRS {
                made.pairs[made.count] = (key, value);
                made.count += 1;
            }
        }
        Some(made)
    }

    /// Its options: keys and values.
    pub fn options(&self) -> &[(&'a [u8], &'a [u8])] {
        &self.pairs[..self.count]
    }
}

/// The words of a line; ":" is one of its own, "{" as well.
#[derive(Clone, Copy)]
pub(super) struct Words<'a>(pub &'a [u8]);

impl<'a> Words<'a> {
    /// The next one; empty at the end.
    pub fn word(&mut self) -> &'a [u8] {
        let rest = self.0.trim_ascii_start();
        let length = match rest.first() {
            Some(b':' | b'{') => 1,
            _ => rest.iter().position(|&b| b.is_ascii_whitespace() || b == b':' || b == b'{').unwrap_or(rest.len()),
        };
        let (word, rest) = rest.split_at(length);
        self.0 = rest;
        word
    }

    /// True behind the last one.
    pub fn is_over(&self) -> bool {
        self.0.trim_ascii_start().is_empty()
    }
}

/// True if a word can be a label.
pub(super) fn is_label(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphabetic) && word.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'_')
}

/// True if a word has digits alone.
pub(super) fn is_number(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

/// Puts a line without its comments into `clean`; `inside` is true between the marks of a long one.
pub(super) fn uncomment(raw: &[u8], inside: &mut bool, clean: &mut Vec<u8>) {
    clean.clear();
    let mut rest = raw;
    while !rest.is_empty() {
        if *inside {
            match rest.windows(2).position(|w| w == b"*/") {
                Some(at) => (rest, *inside) = (&rest[at + 2..], false),
                None => return,
            }
            continue;
        }
        match rest.windows(2).position(|w| w == b"//" || w == b"/*") {
            Some(at) => {
                clean.extend_from_slice(&rest[..at]);
                clean.push(b' ');
                if rest[at + 1] == b'/' {
                    return;
                }
                (rest, *inside) = (&rest[at + 2..], true);
            }
            None => {
                clean.extend_from_slice(rest);
                return;
            }
        }
    }
}
