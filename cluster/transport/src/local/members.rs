//! What nodes tell each other outside of messages: which process they are,
//! that they leave, and why the run failed.

use crate::transport::Abort;
use fathomp_sys::peer;
use fathomp_types::NodeId;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes in a word.
const WORD: usize = size_of::<u64>();
/// Words of a report's text.
const TEXT_WORDS: usize = Abort::TEXT_BYTES_MAX / WORD;

/// Marks a process that left in good order; the low half is its number.
const DEPARTED: u64 = 1 << 32;

/// A node's words: who it is, and its report.
#[derive(Clone, Copy, Debug)]
struct Member<'a> {
    process: &'a AtomicU64,
    /// The failed node (low half) and the kind of failure.
    subject: &'a AtomicU64,
    text_bytes: &'a AtomicU64,
    /// What it said last about itself.
    note: &'a AtomicU64,
    text: &'a [AtomicU64],
}

/// All nodes' words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members<'a> {
    /// Number of the first node that reported a failure, plus one.
    reporter: &'a AtomicU64,
    rest: &'a [AtomicU64],
}

impl<'a> Members<'a> {
    const MEMBER_WORDS: usize = 4 + TEXT_WORDS;

    /// Words that `nodes` nodes need.
    pub(super) const fn words(nodes: usize) -> usize {
        1 + nodes * Self::MEMBER_WORDS
    }

    /// The members in these words, zero at first.
    pub(super) fn new(words: &'a [AtomicU64]) -> Self {
        Self {
            reporter: &words[0],
            rest: &words[1..],
        }
    }

    fn member(&self, node: NodeId) -> Option<Member<'a>> {
        let start = usize::from(node.0) * Self::MEMBER_WORDS;
        let words = self.rest.get(start..start + Self::MEMBER_WORDS)?;
        let (front, text) = words.split_at(4);
        Some(Member {
            process: &front[0],
            subject: &front[1],
            text_bytes: &front[2],
            note: &front[3],
            text,
        })
    }

    /// Says which process a node is. Only the first to say so is heard: whoever
    /// forked it may come late, when the node has departed already.
    pub(super) fn join(&self, node: NodeId, pid: u32) {
        if let Some(member) = self.member(node) {
            let pid = u64::from(pid);
            let (ok, err) = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = member.process.compare_exchange(0, pid, ok, err);
        }
    }

    /// Leaves a node's word.
    pub(super) fn note(&self, node: NodeId, word: u32) {
        if let Some(member) = self.member(node) {
            member.note.store(word.into(), Ordering::Relaxed);
        }
    }

    /// A node's word.
    pub(super) fn noted(&self, node: NodeId) -> Option<u32> {
        let word = self.member(node)?.note.load(Ordering::Relaxed);
        u32::try_from(word).ok()
    }

    /// Says that a node's process may end.
    pub(super) fn depart(&self, node: NodeId) {
        if let Some(member) = self.member(node) {
            member.process.fetch_or(DEPARTED, Ordering::Release);
        }
    }

    /// Whether a node that has joined is gone although it has not departed.
    pub(super) fn is_dead(&self, node: NodeId) -> bool {
        let Some(member) = self.member(node) else {
            return false;
        };
        let process = || member.process.load(Ordering::Acquire);
        let before = process();
        if before == 0 || before & DEPARTED != 0 {
            return false;
        }
        // Departing comes before ending, so it shows now if it came at all.
        peer::has_ended(before as u32).unwrap_or(false) && process() & DEPARTED == 0
    }

    /// Reports a failure as `by`, whose calls must not overlap. The first
    /// report of all stays.
    pub(super) fn report(&self, by: NodeId, node: NodeId, code: u32, text: &str) {
        let Some(member) = self.member(by) else {
            return;
        };
        let me = u64::from(by.0) + 1;
        if self.is_reported() {
            return;
        }
        let subject = u64::from(node.0) | u64::from(code) << 32;
        let mut end = text.len().min(Abort::TEXT_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text.as_bytes()[..end];
        member.subject.store(subject, Ordering::Relaxed);
        member
            .text_bytes
            .store(text.len() as u64, Ordering::Relaxed);
        for (place, piece) in member.text.iter().zip(text.chunks(WORD)) {
            let mut word = [0; WORD];
            word[..piece.len()].copy_from_slice(piece);
            place.store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        // Whoever loses keeps a report that nobody reads.
        let _ = self
            .reporter
            .compare_exchange(0, me, Ordering::Release, Ordering::Relaxed);
    }

    /// Whether there is a report.
    pub(super) fn is_reported(&self) -> bool {
        self.reporter.load(Ordering::Acquire) != 0
    }

    /// The first report.
    pub(super) fn reported(&self) -> Option<Abort> {
        let by = self.reporter.load(Ordering::Acquire).checked_sub(1)?;
        let by = NodeId(by as u16);
        let member = self.member(by)?;
        let subject = member.subject.load(Ordering::Relaxed);
        let mut text: Vec<u8> = member
            .text
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .collect();
        let length = member.text_bytes.load(Ordering::Relaxed);
        text.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Some(Abort {
            by,
            node: NodeId(subject as u16),
            code: (subject >> 32) as u32,
            text: String::from_utf8_lossy(&text).into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(nodes: usize) -> Vec<AtomicU64> {
        (0..Members::words(nodes))
            .map(|_| AtomicU64::new(0))
            .collect()
    }

    #[test]
    fn the_first_report_stays() {
        let words = words(3);
        let members = Members::new(&words);
        assert_eq!(members.reported(), None);
        let long = "ü".repeat(150);
        members.report(NodeId(2), NodeId(1), 7, &long);
        members.report(NodeId(0), NodeId(2), 8, "second");
        members.report(NodeId(2), NodeId(2), 9, "third");
        let expected = Abort {
            by: NodeId(2),
            node: NodeId(1),
            code: 7,
            text: "ü".repeat(100),
        };
        assert_eq!(members.reported(), Some(expected));
    }

    #[test]
    fn words_that_make_no_sense_do_no_harm() {
        let words = words(2);
        for word in &words {
            word.store(u64::MAX, Ordering::Relaxed);
        }
        let members = Members::new(&words);
        assert_eq!(members.reported(), None);
        words[0].store(2, Ordering::Relaxed);
        let abort = members.reported().unwrap();
        assert_eq!((abort.by, abort.node), (NodeId(1), NodeId(u16::MAX)));
        assert!(!members.is_dead(NodeId(0)));
        assert!(!members.is_dead(NodeId(9)));
    }

    #[test]
    fn only_who_ends_without_departing_is_dead() {
        let words = words(2);
        let members = Members::new(&words);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let [us, them] = [0, 1].map(NodeId);
        assert!(!members.is_dead(us) && !members.is_dead(them));
        members.join(us, std::process::id());
        members.join(them, child.id());
        child.wait().unwrap();
        assert!(!members.is_dead(us) && members.is_dead(them));
        members.depart(them);
        members.join(them, child.id());
        assert!(!members.is_dead(them));
    }
}
