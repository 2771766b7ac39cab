//! What is said of nodes that live and do not go on, since it would look like nothing
//! but a program that hangs: somebody has stopped a process, for which all others wait; or
//! all nodes wait for each other.

use crate::activity::Activity;
use fathomp_sys::cluster::process::Life;

/// Looks in a row at which a process must stand before it is told. Not a time: whoever
/// stops a whole job, as Ctrl-Z does, stops those who look too.
const LOOKS: u32 = 10;

/// Looks in a row at which all must be seen to wait before it is told: about ten seconds.
const STILL_LOOKS: u32 = 100;

/// How often in a row each process has been seen to stand.
#[derive(Debug, Default)]
pub(crate) struct StoppedProcesses(Vec<u32>);

impl StoppedProcesses {
    /// Takes one look at all processes, which come in the same order each time. Which
    /// of them now stand for good, by number, and the signals that have stopped them;
    /// each once until it has gone on.
    pub(crate) fn look(&mut self, lives: impl Iterator<Item = Option<Life>>) -> Vec<(usize, i32)> {
        let mut told = Vec::new();
        for (number, life) in lives.enumerate() {
            if self.0.len() <= number {
                self.0.push(0);
            }
            match life {
                Some(Life::Stopped(signal)) => {
                    self.0[number] = self.0[number].saturating_add(1);
                    if self.0[number] == LOOKS {
                        told.push((number, signal));
                    }
                }
                _ => self.0[number] = 0,
            }
        }
        told
    }
}

/// How often in a row all nodes were seen to wait, and for the same.
#[derive(Debug, Default)]
pub(crate) struct DeadlockDetector {
    words: Vec<u32>,
    looks: u32,
}

impl DeadlockDetector {
    /// Takes one look at what all nodes are at, in [words](Activity::word). True once, when
    /// they have been waiting for long.
    pub(crate) fn look(&mut self, words: impl Iterator<Item = u32>) -> bool {
        let words: Vec<u32> = words.collect();
        let still = words.iter().all(|word| Activity::from_word(*word).waits());
        if !still || words != self.words {
            self.words = words;
            self.looks = 0;
            return false;
        }
        self.looks = self.looks.saturating_add(1);
        self.looks == STILL_LOOKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_waits_for_the_same_all_the_time_is_still() {
        let mut stillness = DeadlockDetector::default();
        let mut looks = |words: [u32; 2]| {
            let looks = (0..3 * STILL_LOOKS).filter(|_| stillness.look(words.into_iter()));
            looks.count()
        };
        let [lock, barrier] = [Activity::AwaitLock, Activity::Barrier];
        assert_eq!(looks([lock.word(1), Activity::Compute.word(7)]), 0);
        assert_eq!(looks([lock.word(1), barrier.word(7)]), 1);
        assert_eq!(looks([lock.word(1), barrier.word(9)]), 1);
        let changing = (0..3 * STILL_LOOKS).map(|turn| [lock.word(turn), barrier.word(9)]);
        assert!(
            !changing
                .into_iter()
                .any(|words| stillness.look(words.into_iter()))
        );
    }

    #[test]
    fn who_stands_is_told_once_each_time() {
        let mut standing = StoppedProcesses::default();
        let mut looks = |count: u32, life: Life| -> Vec<_> {
            let lives = || [Some(Life::GoesOn), Some(life), None].into_iter();
            (0..count).flat_map(|_| standing.look(lives())).collect()
        };
        assert_eq!(looks(LOOKS - 1, Life::Stopped(19)), []);
        assert_eq!(looks(1, Life::GoesOn), []);
        assert_eq!(looks(3 * LOOKS, Life::Stopped(19)), [(1, 19)]);
        assert_eq!(looks(1, Life::GoesOn), []);
        assert_eq!(looks(LOOKS, Life::Stopped(20)), [(1, 20)]);
    }
}
