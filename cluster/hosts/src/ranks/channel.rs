//! One connection between two nodes, as it goes over messages: what may be sent, and what has
//! come and not been taken yet. Knows neither MPI nor sockets, so that all orders of events can
//! be tried.

use std::collections::VecDeque;

/// Bytes of a connection that may be under way in one direction, or wait for a program to take
/// them.
pub(super) const WINDOW_BYTES: u32 = 256 << 10;
/// So many bytes have to have been taken before that is told.
const TOLD_BYTES: u32 = WINDOW_BYTES / 4;

/// The state of a connection at one of its ends.
#[derive(Debug)]
pub(super) struct Channel {
    /// Bytes that may still be sent.
    credit: u32,
    /// Bytes that were taken here and of which the other end has not been told.
    taken: u32,
    /// Bytes that have come and that the program has not taken.
    waiting: VecDeque<u8>,
    /// The program here sends no more, and whether the other end has been told.
    ended: Option<bool>,
    /// The other end sends no more.
    complete: bool,
    /// Nobody takes anything here any more.
    deaf: bool,
}

/// The other end sends more than was allowed, or after its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excess;

impl Channel {
    pub(super) fn new() -> Self {
        Self {
            credit: WINDOW_BYTES,
            taken: 0,
            waiting: VecDeque::new(),
            ended: None,
            complete: false,
            deaf: false,
        }
    }

    /// How many bytes may be sent now.
    pub(super) fn may_send(&self) -> u32 {
        match self.ended {
            None => self.credit,
            Some(_) => 0,
        }
    }

    pub(super) fn sent(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_sub(bytes);
    }

    /// The other end has taken so many bytes.
    pub(super) fn allow(&mut self, bytes: u32) -> Result<(), Excess> {
        let credit = self.credit.saturating_add(bytes);
        self.credit = credit.min(WINDOW_BYTES);
        (credit <= WINDOW_BYTES).then_some(()).ok_or(Excess)
    }

    /// The program here sends no more.
    pub(super) fn end(&mut self) {
        self.ended.get_or_insert(false);
    }

    /// Whether the program here sends no more.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether the other end has to be told that; it counts as told then.
    pub(super) fn owes_end(&self) -> bool {
        self.ended == Some(false)
    }

    pub(super) fn told_end(&mut self) {
        self.ended = Some(true);
    }

    /// Bytes have come.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), Excess> {
        let all = self.waiting.len() + self.taken as usize + bytes.len();
        if self.complete || all > WINDOW_BYTES as usize {
            return Err(Excess);
        }
        match self.deaf {
            true => self.taken += bytes.len() as u32,
            false => self.waiting.extend(bytes),
        }
        Ok(())
    }

    /// The other end sends no more.
    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    /// What is to be given to the program next.
    pub(super) fn next(&self) -> &[u8] {
        self.waiting.as_slices().0
    }

    /// The program has taken so many bytes of it.
    pub(super) fn take(&mut self, bytes: usize) {
        let taken = bytes.min(self.waiting.len());
        self.waiting.drain(..taken);
        self.taken += taken as u32;
    }

    /// The program takes no more: what comes is dropped, so that nobody waits for it.
    pub(super) fn deafen(&mut self) {
        self.deaf = true;
        self.take(self.waiting.len());
    }

    /// How many bytes the other end has to be told were taken.
    pub(super) fn owes_credit(&self) -> Option<u32> {
        (self.taken >= TOLD_BYTES && !self.complete).then_some(self.taken)
    }

    pub(super) fn told_credit(&mut self) {
        self.taken = 0;
    }

    /// Whether the program here has got all that it ever will.
    pub(super) fn is_drained(&self) -> bool {
        self.complete && self.waiting.is_empty()
    }

    /// Whether nothing more happens here.
    pub(super) fn is_over(&self) -> bool {
        self.is_drained() && self.ended == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_not_allowed_is_noticed() {
        let mut channel = Channel::new();
        let most = vec![1; WINDOW_BYTES as usize];
        assert_eq!(channel.receive(&most), Ok(()));
        assert_eq!(channel.receive(&[1]), Err(Excess));
        channel.take(most.len());
        // It has not been told yet, so it is not allowed either.
        assert_eq!(channel.receive(&[1]), Err(Excess));
        assert_eq!(channel.owes_credit(), Some(WINDOW_BYTES));
        channel.told_credit();
        assert_eq!(channel.receive(&[1]), Ok(()));
        channel.complete();
        assert_eq!(channel.receive(&[1]), Err(Excess));
        assert_eq!(channel.allow(1), Err(Excess));
    }

    #[test]
    fn nobody_waits_for_a_program_that_reads_no_more() {
        let mut channel = Channel::new();
        channel.receive(&vec![1; WINDOW_BYTES as usize]).unwrap();
        channel.deafen();
        assert_eq!(channel.owes_credit(), Some(WINDOW_BYTES));
        channel.told_credit();
        channel.receive(&vec![1; WINDOW_BYTES as usize]).unwrap();
        assert!(channel.next().is_empty() && channel.owes_credit().is_some());
        channel.complete();
        assert!(channel.is_drained() && !channel.is_over());
        channel.end();
        assert!(channel.owes_end() && channel.may_send() == 0);
        channel.told_end();
        assert!(channel.is_over());
    }

    proptest! {
        /// Two ends and what is between them: all bytes arrive in order, however much is sent,
        /// carried and taken at a time, and no more than a window is ever under way.
        #[test]
        fn all_bytes_arrive(steps in proptest::collection::vec((0..3_u8, 1..100_000_u32), 1..300)) {
            let (mut from, mut to) = (Channel::new(), Channel::new());
            let (mut sent, mut got) = (0_u32, 0_u32);
            let mut under_way: VecDeque<Vec<u8>> = VecDeque::new();
            let byte = |at: u32| (at % 251) as u8;
            let finish = (0..100).flat_map(|_| [(1, 0), (2, u32::MAX)]);
            for (what, bytes) in steps.into_iter().chain(finish) {
                match what {
                    0 => {
                        let count = bytes.min(from.may_send());
                        under_way.push_back((sent..sent + count).map(byte).collect());
                        from.sent(count);
                        sent += count;
                    }
                    1 => if let Some(message) = under_way.pop_front() {
                        prop_assert_eq!(to.receive(&message), Ok(()));
                    },
                    _ => {
                        let next: Vec<u8> = to.next().iter().take(bytes as usize).copied().collect();
                        for taken in &next {
                            prop_assert_eq!(*taken, byte(got));
                            got += 1;
                        }
                        to.take(next.len());
                        if let Some(credit) = to.owes_credit() {
                            to.told_credit();
                            prop_assert_eq!(from.allow(credit), Ok(()));
                        }
                    }
                }
            }
            while let Some(message) = under_way.pop_front() {
                prop_assert_eq!(to.receive(&message), Ok(()));
                while !to.next().is_empty() {
                    got += to.next().len() as u32;
                    to.take(to.next().len());
                }
                to.told_credit();
            }
            prop_assert_eq!(sent, got);
        }
    }
}
