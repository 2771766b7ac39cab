//! What is left to do when the nodes have met at a barrier.
//!
//! Diffs are made and sent when everybody has come. Whoever has sent his goes on; their home's
//! thread goes on when all of them are in its memory, and whoever asks there before that waits,
//! too: a node does one thing after the other. So a barrier is over at different times for
//! different threads, and some of its work overlaps with what comes next.

use super::messages::{DIFFS_PER_MESSAGE, LOOKS_NS};
use super::part::Part;
use super::terms::{NodesTerm, NodesTime};
use crate::prices::Event;

/// What a thread's diffs and notices at a barrier take, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Leaving {
    /// Until it knows that all have come.
    pub(super) down_ns: f64,
    /// From it to node 0, if it comes to the next barrier at once.
    pub(super) up_ns: f64,
    /// To make and send diffs.
    pub(super) send_ns: f64,
    /// Pages that become invalid.
    pub(super) notices_ns: f64,
    /// What these diffs keep their homes.
    pub(super) served_ns: f64,
    /// What they take longer that is done for some while others are under way.
    pub(super) passes_ns: f64,
}

/// What threads and homes have yet to do, in nanoseconds after it is known at node 0 that
/// everybody has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Left {
    threads: Vec<Leaving>,
    /// When each home has done what it was sent; 0 of who was sent nothing.
    done_ns: Vec<f64>,
    /// Over so many barriers.
    barriers: f64,
    /// A message's way, and what it takes longer if nobody looks for it.
    message: Message,
}

/// What a message takes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Message {
    /// To another node, with what that does.
    pub(super) way_ns: f64,
    /// Longer if somebody has to wake up there.
    pub(super) wake_ns: f64,
    /// The first diffs that a barrier brings to a home, at least.
    pub(super) release_ns: f64,
}

impl Left {
    /// Of threads that take so long, and of nodes where it is so likely that nobody looks for
    /// messages.
    pub(super) fn new(
        parts: &[Part],
        threads: Vec<Leaving>,
        unheeded: &[f64],
        message: Message,
    ) -> Self {
        let most = parts.iter().map(|part| part.dsm.barriers).max();
        let barriers = most.unwrap_or(0).max(1) as f64;
        // Messages are full at most: a home begins with the first and ends with the last.
        let of_one = |part: &Part| {
            let diffs = part.counts.0[Event::DiffToHome as usize];
            (barriers * DIFFS_PER_MESSAGE / diffs.max(1.0)).min(1.0)
        };
        let senders = || {
            parts
                .iter()
                .zip(&threads)
                .filter(|(_, one)| one.served_ns > 0.0)
        };
        let first_ns = senders()
            .map(|(part, one)| one.down_ns + one.send_ns * of_one(part))
            .fold(f64::INFINITY, f64::min);
        let sent_ns = senders()
            .map(|(_, one)| one.down_ns + one.send_ns)
            .fold(0.0, f64::max);
        let last_ns = senders()
            .map(|(part, one)| one.served_ns * of_one(part))
            .fold(0.0, f64::max);
        let passes_ns = senders()
            .map(|(part, one)| one.passes_ns * of_one(part))
            .fold(0.0, f64::max);
        let all_ns: f64 = senders().map(|(_, one)| one.served_ns).sum();
        let applied: f64 = parts.iter().map(|part| part.dsm.diffs_applied as f64).sum();
        let done_ns = parts.iter().zip(unheeded).map(|(part, unheeded)| {
            let share = part.dsm.diffs_applied as f64 / applied.max(1.0);
            if share <= 0.0 || all_ns <= 0.0 {
                return 0.0;
            }
            let first_comes_ns = message.way_ns + unheeded * message.wake_ns;
            let works_ns = (sent_ns + share * last_ns).max(first_ns + share * all_ns);
            barriers * first_comes_ns.max(message.release_ns) + share * passes_ns + works_ns
        });
        Self {
            done_ns: done_ns.collect(),
            threads,
            barriers,
            message,
        }
    }

    /// What a thread did to leave.
    pub(super) fn of(&self, thread: usize) -> Leaving {
        self.threads.get(thread).copied().unwrap_or_default()
    }

    /// When a thread goes on: a home's when its memory is whole.
    pub(super) fn goes_on_ns(&self, thread: usize) -> f64 {
        let leaving = self.of(thread);
        let sent_ns = leaving.down_ns + leaving.send_ns;
        sent_ns.max(self.done_ns(thread)) + leaving.notices_ns
    }

    /// Until all have gone on and come to the next barrier, term by term.
    pub(super) fn until_all_meet(&self) -> NodesTime {
        let comes_ns = |thread| self.goes_on_ns(thread) + self.of(thread).up_ns;
        let all = (0..self.threads.len()).map(|thread| (thread, comes_ns(thread)));
        let last = all.max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((thread, meet_ns)) = last else {
            return NodesTime::default();
        };
        let mut time = self.time(thread);
        time[NodesTerm::Barriers] += self.of(thread).up_ns;
        // Who has waited for long wakes up when the next region begins.
        let hears_ns = meet_ns + self.barriers * self.message.way_ns;
        let late = |other: &usize| hears_ns - self.goes_on_ns(*other) > LOOKS_NS * self.barriers;
        let asleep = (1..self.threads.len()).filter(late).count() as f64;
        let part = asleep / (self.threads.len() as f64 - 1.0).max(1.0);
        time[NodesTerm::Barriers] += part * self.message.wake_ns * self.barriers;
        time
    }

    /// Until a thread goes on, term by term.
    pub(super) fn time(&self, thread: usize) -> NodesTime {
        let Leaving {
            down_ns,
            notices_ns,
            ..
        } = self.of(thread);
        let mut time = NodesTime::default();
        time[NodesTerm::Barriers] = down_ns;
        time[NodesTerm::Diffs] = self.goes_on_ns(thread) - down_ns - notices_ns;
        time[NodesTerm::Notices] = notices_ns;
        time
    }

    /// Whether nothing is known of what was before.
    pub(super) fn is_first(&self) -> bool {
        self.threads.is_empty()
    }

    /// Over how many barriers all this is.
    pub(super) fn barriers(&self) -> f64 {
        self.barriers.max(1.0)
    }

    /// When a home has done what it was sent.
    pub(super) fn done_ns(&self, home: usize) -> f64 {
        self.done_ns.get(home).copied().unwrap_or(0.0)
    }

    /// How long a thread waits that goes on, and asks `home` so many times, between which it does
    /// something else for `between_ns` in all: its first question after a barrier does.
    pub(super) fn waits_ns(&self, thread: usize, home: usize, asks: f64, between_ns: f64) -> f64 {
        let first_ns = between_ns / (asks / self.barriers.max(1.0) + 1.0);
        let way_ns = self.barriers * self.message.way_ns;
        let asks_ns = self.goes_on_ns(thread) + first_ns + way_ns;
        let late_ns = self.done_ns(home) - asks_ns;
        (asks / self.barriers.max(1.0)).min(1.0) * late_ns.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::Counts;
    use fathomp_analysis::Dsm;

    /// Node 0 is home of what the others have changed.
    fn left(diffs: f64, send_ns: f64, served_ns: f64) -> Left {
        let part = |diffs, diffs_applied| Part {
            counts: Counts::home(0.0, 0.0, 0.0, diffs),
            dsm: Dsm {
                barriers: 1,
                diffs_applied,
                ..Dsm::default()
            },
            ..Part::default()
        };
        let parts = [part(0.0, 2), part(diffs, 0), part(diffs, 0)];
        let sender = Leaving {
            down_ns: 40.0,
            up_ns: 500.0,
            send_ns,
            notices_ns: 70.0,
            served_ns,
            passes_ns: 8.0,
        };
        let message = Message {
            way_ns: 4.0,
            wake_ns: 2.0,
            release_ns: 0.0,
        };
        let threads = vec![Leaving::default(), sender, sender];
        Left::new(&parts, threads, &[0.5; 3], message)
    }

    #[test]
    fn a_home_goes_on_when_it_has_done_what_all_sent() {
        let left = left(256.0, 1_000.0, 300.0);
        // One message each: the second is done after the first.
        assert_eq!(left.goes_on_ns(0), 5.0 + 8.0 + 1_040.0 + 600.0);
        assert_eq!(left.goes_on_ns(1), 1_110.0);
        // Who asks at once waits, and the less the later it asks.
        assert_eq!(left.waits_ns(1, 0, 9.0, 0.0), 539.0);
        assert_eq!(left.waits_ns(1, 0, 9.0, 2_000.0), 339.0);
        assert_eq!(left.waits_ns(1, 0, 9.0, 6_000.0), 0.0);
        // Of two threads of which one asks, each does half.
        assert_eq!(left.waits_ns(1, 0, 0.5, 0.0), 269.5);
        assert_eq!(left.waits_ns(2, 1, 9.0, 0.0), 0.0);
        assert_eq!(left.until_all_meet()[NodesTerm::Diffs], 1_653.0);
    }

    #[test]
    fn a_home_begins_with_the_first_of_many_messages() {
        // Four each: the home has begun when a quarter was sent, and has too much to do.
        let busy = left(1_024.0, 1_000.0, 3_000.0);
        assert_eq!(busy.goes_on_ns(0), 5.0 + 2.0 + 290.0 + 6_000.0);
        // Or it has nothing but the last message to do.
        let idle = left(1_024.0, 1_000.0, 100.0);
        assert_eq!(idle.goes_on_ns(0), 5.0 + 2.0 + 1_040.0 + 25.0);
        let time = idle.until_all_meet();
        let terms = [NodesTerm::Barriers, NodesTerm::Diffs, NodesTerm::Notices];
        assert_eq!(terms.map(|term| time[term]), [540.0, 1_000.0, 70.0]);
        assert_eq!(Left::default().goes_on_ns(3), 0.0);
        assert_eq!(Left::default().waits_ns(0, 1, 9.0, 0.0), 0.0);
    }
}
