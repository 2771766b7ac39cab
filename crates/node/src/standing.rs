//! Nodes whose process somebody has stopped. They are not dead, and may go on any
//! time; but all others wait for them, which would look like a program that hangs.

use fathomp_sys::cluster::process::Life;

/// Looks in a row at which a process must stand before it is told. Not a time: whoever
/// stops a whole job, as Ctrl-Z does, stops those who look too.
const LOOKS: u32 = 10;

/// How often in a row each process has been seen to stand.
#[derive(Debug, Default)]
pub(crate) struct Standing(Vec<u32>);

impl Standing {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stands_is_told_once_each_time() {
        let mut standing = Standing::default();
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
