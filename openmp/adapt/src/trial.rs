//! Two teams for the same region, compared.

use super::sample::{MOST, Sample, Summary};
use super::{MARGIN, random};

/// Executions in a row with the same team.
const BLOCK: u32 = 3;
/// Executions of each team before one may win, if all of the region took about as long.
const FEW: usize = 8;
/// The same, if they did not: enough that the rare long ones are among them.
const MANY: usize = 32;
/// Standard errors that a team must win by; looked at repeatedly, hence more than usual.
const WINS: f64 = 3.0;
/// Standard errors that it must lose by to be given up early.
const LOSES: f64 = 2.0;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The best so far.
    Known,
    /// The one that is tried.
    Other,
}

/// What a trial says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing yet.
    Open,
    /// The other team is faster.
    Won,
    /// It is not, or not by enough.
    Lost,
    /// It is much slower.
    FarBehind,
}

/// A trial that goes on.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// Which team is tried.
    pub(crate) other: usize,
    /// Times of executions.
    own: [Sample; 2],
    /// Times from the begin of an execution to that of the next.
    lap: [Sample; 2],
    enough: usize,
    side: Side,
    /// Executions of the block that are still to come.
    left: u32,
    /// Blocks with the other team less those with the known one.
    ahead: i32,
    /// The execution before, if it counts, and when it began.
    before: Option<(Side, u64)>,
    /// Executions of each team when that was looked at last.
    looked: usize,
    /// What an execution with the other team probably loses, by what is known of it.
    loss: Option<f64>,
}

impl Trial {
    /// A trial of team `other`; `even` says whether all executions took about as long.
    pub(crate) fn new(other: usize, even: bool) -> Self {
        Self {
            other,
            own: [Sample::EMPTY; 2],
            lap: [Sample::EMPTY; 2],
            enough: if even { FEW } else { MANY },
            side: Side::Known,
            left: 0,
            ahead: 0,
            before: None,
            looked: 0,
            loss: None,
        }
    }

    /// Which team an execution that begins now gets. `affords` says whether a block with
    /// the other team may be lost.
    pub(crate) fn next(
        &mut self,
        now: u64,
        state: &mut u32,
        affords: impl Fn(f64) -> bool,
    ) -> Side {
        if let Some((side, began)) = self.before.take() {
            self.lap[side as usize].add(now.saturating_sub(began));
        }
        if self.left == 0 {
            self.side = match self.ahead {
                ..=-2 => Side::Other,
                2.. => Side::Known,
                _ if random(state) & 1 == 0 => Side::Known,
                _ => Side::Other,
            };
            if self.side == Side::Other && !affords(f64::from(BLOCK)) {
                self.side = Side::Known;
            } else {
                self.ahead += if self.side == Side::Other { 1 } else { -1 };
            }
            self.left = BLOCK;
        }
        self.left -= 1;
        if self.left < BLOCK - 1 {
            self.before = Some((self.side, now));
        }
        self.side
    }

    /// An execution took so long, where `typical` is usual; returns what the trial lost by
    /// it, at most `worst`: the rest has another reason. It may be one with the known team,
    /// for the other one has had its data.
    pub(crate) fn ended(&mut self, time: u64, typical: f64, worst: f64) -> f64 {
        if self.left < BLOCK - 1 {
            self.own[self.side as usize].add(time);
        }
        let more = (time as f64 - typical).max(0.0);
        match self.side {
            Side::Known => more.min(0.5 * typical),
            Side::Other => more.min(worst),
        }
    }

    /// The execution that was begun last is no example: it had another team.
    pub(crate) fn spoil(&mut self) {
        self.before = None;
    }

    /// What an execution with the other team probably loses; none if too little is known.
    pub(crate) fn expected_loss(&self) -> Option<f64> {
        self.loss
    }

    /// What can be said by now. It is looked at seldom, for looking takes a microsecond.
    pub(crate) fn verdict(&mut self) -> Verdict {
        let [known, other] = &self.own;
        let count = known.len().min(other.len());
        if self.left > 0 || count < 4 || count < self.looked + 1 + self.looked / 4 {
            return Verdict::Open;
        }
        self.looked = count;
        let (known, other) = (known.summary(), other.summary());
        self.loss = Some((other.mean - known.mean).max(0.0));
        // Clear without statistics.
        if other.least > known.median && other.mean > 1.3 * known.mean {
            return Verdict::FarBehind;
        }
        if count < FEW {
            return Verdict::Open;
        }
        let gain = known.mean * (1.0 - MARGIN) - other.mean;
        let error = known.error.hypot(other.error);
        if -gain > LOSES * error {
            Verdict::Lost
        } else if (gain > WINS * error || (gain > 0.0 && is_always_below(&other, &known)))
            && count >= self.enough
            && !self.slows_others()
        {
            Verdict::Won
        } else if count >= MOST {
            Verdict::Lost
        } else {
            Verdict::Open
        }
    }

    /// Whether the program takes longer from one execution to the next although the
    /// execution is shorter: what comes after it finds its data elsewhere.
    fn slows_others(&self) -> bool {
        let [known, other] = [&self.lap[0], &self.lap[1]].map(Sample::summary);
        other.mean - known.mean > known.error.hypot(other.error)
    }
}

/// Whether executions of one kind are shorter by far, the short as well as the long ones.
/// Where the machine is crowded, a few waits make every mean uncertain; all quantiles are
/// not lower by chance.
fn is_always_below(one: &Summary, other: &Summary) -> bool {
    const BY_FAR: f64 = 0.85;
    let pairs = one.quantiles.iter().zip(&other.quantiles);
    pairs.into_iter().all(|(one, other)| *one < BY_FAR * other)
}
