//! A thread's life cut into disjoint stretches: which region it was in, and,
//! where that is known, in which state.

use super::accounts::TimeAccount;
use fathomp_trace::record::{Interval, Record};
use fathomp_trace::state::State;
use fathomp_types::Ticks;

/// A stretch of a thread's life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    /// From here
    pub(crate) begin: Ticks,
    /// to here.
    pub(crate) end: Ticks,
    /// Part (index into the account's parts) it belongs to; none outside
    /// regions, and where only merged parts know what happened.
    pub(crate) part: Option<usize>,
    /// What the thread did all that time, if that is known.
    pub(crate) state: Option<State>,
}

impl Piece {
    /// Its length.
    pub(crate) fn length(&self) -> Ticks {
        self.end.since(self.begin)
    }
}

/// Cuts the life of `thread`: the pieces are in order and cover it without
/// gaps. Merged parts have no pieces.
pub(crate) fn cut(account: &TimeAccount<'_>, thread: usize) -> Vec<Piece> {
    let life = &account.lives[thread];
    let mut cutter = Cutter {
        account,
        pieces: Vec::new(),
        open: Vec::new(),
        reached: life.begin,
    };
    for index in account.by_thread[thread].clone() {
        if account.parts[index].merged() {
            continue;
        }
        cutter.advance(account.parts[index].from);
        cutter.open.push(index);
    }
    cutter.advance(life.end);
    cutter.pieces
}

struct Cutter<'a, 'b> {
    account: &'a TimeAccount<'b>,
    pieces: Vec<Piece>,
    /// Parts begun and not ended, the innermost last.
    open: Vec<usize>,
    reached: Ticks,
}

impl Cutter<'_, '_> {
    fn advance(&mut self, to: Ticks) {
        while let Some(&top) = self.open.last() {
            let end = self.account.parts[top].to;
            self.emit(end.min(to), Some(top));
            if end > to {
                return;
            }
            self.open.pop();
        }
        self.emit(to, None);
    }

    /// One piece up to `to`, cut where the record of its part begins and ends.
    fn emit(&mut self, to: Ticks, part: Option<usize>) {
        let Some(index) = part else {
            self.push(to, None, None);
            return;
        };
        let part = &self.account.parts[index];
        let inside = [
            (part.begin(), Some(State::Overhead)),
            (part.record.end, None),
            (to, Some(State::ImplicitBarrier)),
        ];
        for (edge, state) in inside {
            self.push(edge.min(to), Some(index), state);
        }
    }

    fn push(&mut self, to: Ticks, part: Option<usize>, state: Option<State>) {
        if to > self.reached {
            self.pieces.push(Piece {
                begin: self.reached,
                end: to,
                part,
                state,
            });
            self.reached = to;
        }
    }
}

/// Cuts pieces of unknown state where `thread` recorded waits one by one.
pub(crate) fn with_waits(account: &TimeAccount<'_>, thread: usize, pieces: &[Piece]) -> Vec<Piece> {
    let mut waits: Vec<&Interval> = account.process.threads[thread]
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Interval(interval) if interval.end > interval.begin => Some(interval),
            _ => None,
        })
        .collect();
    waits.sort_by_key(|wait| (wait.begin, wait.end));
    let mut result = Vec::with_capacity(pieces.len() + 2 * waits.len());
    let mut next = 0;
    for piece in pieces {
        let mut reached = piece.begin;
        while next < waits.len() && waits[next].end <= reached {
            next += 1;
        }
        let mut look = next;
        while piece.state.is_none() && look < waits.len() && waits[look].begin < piece.end {
            let begin = waits[look].begin.max(reached);
            let end = waits[look].end.min(piece.end);
            if end > begin {
                if begin > reached {
                    result.push(Piece {
                        begin: reached,
                        end: begin,
                        ..*piece
                    });
                }
                result.push(Piece {
                    begin,
                    end,
                    part: piece.part,
                    state: Some(waits[look].state),
                });
                reached = end;
            }
            look += 1;
        }
        if piece.end > reached {
            result.push(Piece {
                begin: reached,
                ..*piece
            });
        }
    }
    result
}
