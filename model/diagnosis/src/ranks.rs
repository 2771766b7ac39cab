//! Why all ranks of an MPI program together lose time.
//!
//! Costs are parts of the run that a rank loses on the mean. A cause is certain or it is not named:
//! what other programs, or a rank's own messages, may have had a part in counts for no late rank.

use crate::cause::{Kind, WORTH_SAYING};
use fathomp_analysis::{Late, RankCrowd, RankRow, RankWait, Ranks, SentMessages, Turns, WaitKind};
use fathomp_types::text::shorten;
use fathomp_types::units::{bytes, count, duration, percent, plural};
use serde::Serialize;

/// A cause in the program must cost this part of the run.
const WORTH_MENDING: f64 = 0.05;
/// Of the time of a small message, its bytes take at most this part.
const BYTES_PART_MAX: f64 = 0.25;
/// Bytes in a nanosecond that MPI moves at least: between ranks of one host, and of several (Gigabit
/// Ethernet moves 0.12).
const BYTES_PER_NS: [f64; 2] = [1.0, 0.1];
/// A message takes no longer than this, in nanoseconds, between ranks of one host and of several; what
/// is beyond that is a rank that lacks its processor in MPI.
const MESSAGE_NS_MAX: [f64; 2] = [50e3, 500e3];
/// Messages from this size on are large: what it costs to begin one is little beside moving it.
const LARGE_BYTES_MIN: f64 = 65536.0;
/// Equal work takes up to so many times as long on one processor as on another: they share cores with
/// other programs, or a virtual machine's host gives their time to others.
const SLOWER_MAX: f64 = 1.75;
/// Messages are sent late if a rank waits for them in this part of its calls. Where ranks work equally
/// long on the mean, and now one and now the other comes later, it is one half.
const REGULAR_MIN: f64 = 0.75;
/// Calls that take turns take so many times as long together as alone.
const TURNS_RATIO: f64 = 1.5;
/// Letters of a place's name.
const PLACE_CHARS: usize = 80;

/// A reason why an MPI program does not run faster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankCause {
    /// What it is.
    pub kind: Kind,
    /// "MPI_Recv at solver.c:12", "rank 3", or a host.
    pub place: String,
    /// The rank that is to blame, if it is one.
    pub rank: Option<u32>,
    /// The numbers that speak for it: a sentence without its full stop.
    pub evidence: String,
    /// What a rank loses by it on the mean, as a part of the run; 0 if that is not known.
    pub share: f64,
    /// One thing to do: a clause.
    pub action: String,
}

impl RankCause {
    /// All of it as one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: {}.", self.evidence, self.action)
    }
}

/// The causes, the most expensive first; what is not the program's fault comes last. Where threads
/// share processors, all that waits for others waits for processors, and nothing else is named.
#[must_use]
pub fn diagnose_ranks(all: &Ranks) -> Vec<RankCause> {
    if let Some(crowd) = &all.crowd {
        return vec![crowded(crowd)];
    }
    let whole = Whole::of(all);
    let unequal = whole.unequal();
    // Time that is lost by unequal work is not lost a second time by the waits that it makes.
    let waits = whole.waits_share();
    let left = match waits > 0.0 {
        true => 1.0 - (whole.imbalance() / waits).min(1.0),
        false => 0.0,
    };
    let heaviest = unequal.as_ref().and_then(|cause| cause.rank);
    let late = match &all.late {
        Some(late) if heaviest == Some(late.rank) => None,
        _ => whole.last_rank(left),
    };
    let found = [
        unequal,
        late,
        whole.late_messages(left, heaviest),
        whole.small_messages(),
        whole.large_messages(),
        whole.turns(),
        whole.locked(),
        whole.without_processor(),
    ];
    let mut causes: Vec<RankCause> = found.into_iter().flatten().collect();
    causes.sort_by(|a, b| {
        (a.kind.is_circumstance().cmp(&b.kind.is_circumstance())).then(b.share.total_cmp(&a.share))
    });
    causes
}

fn crowded(crowd: &RankCrowd) -> RankCause {
    let (threads, processors) = (
        plural(crowd.threads.into(), "thread"),
        plural(crowd.processors.into(), "processor"),
    );
    let host = shorten(&crowd.host, 60);
    let (place, evidence, action) = match crowd.rank {
        Some(rank) => (
            format!("rank {rank}"),
            format!("Rank {rank} has {threads} and may use {processors}"),
            format!(
                "let what starts ranks give each as many processors as it has threads (Open MPI: --bind-to none, or --map-by slot:pe={n}; Slurm: --cpus-per-task={n})",
                n = crowd.threads
            ),
        ),
        None => (
            host.to_string(),
            format!("All ranks on {host} together have {threads}, and it has {processors}"),
            "start fewer ranks or give them fewer threads; until then all that waits for others waits for processors".to_owned(),
        ),
    };
    RankCause {
        kind: Kind::Oversubscription,
        place,
        rank: crowd.rank,
        evidence,
        share: 0.0,
        action,
    }
}

/// Bytes of a message from that place, on the mean.
fn size(one: &SentMessages) -> f64 {
    one.bytes as f64 / (one.count as f64).max(1.0)
}

/// The time in which a rank's first thread is outside of MPI.
fn outside(one: &RankRow) -> f64 {
    one.wall_ns.saturating_sub(one.mpi_ns) as f64
}

/// All ranks, and what most causes need of them.
struct Whole<'a> {
    all: &'a Ranks,
    /// The length of the run.
    ns: f64,
    ranks: f64,
}

impl<'a> Whole<'a> {
    fn of(all: &'a Ranks) -> Self {
        Self {
            all,
            ns: (all.wall_ns as f64).max(1.0),
            ranks: (all.ranks.len() as f64).max(1.0),
        }
    }

    /// What ranks wait for each other.
    fn waits_share(&self) -> f64 {
        let waits = self.all.ranks.iter().filter_map(|one| one.waiting_ns);
        waits.map(|ns| ns as f64).sum::<f64>() / self.ranks / self.ns
    }

    /// What ranks are outside of MPI shorter than the one that is so longest, on the mean, of the
    /// run.
    fn imbalance(&self) -> f64 {
        let times = || self.all.ranks.iter().map(outside);
        (times().fold(0.0, f64::max) - times().sum::<f64>() / self.ranks) / self.ns
    }

    /// One rank works longer outside of MPI than the others. Only if that is so without the time in
    /// which it lacked a processor, and whatever the others lacked. Ranks that were not recorded may
    /// work longer still.
    fn unequal(&self) -> Option<RankCause> {
        if !self.all.missing.is_empty() {
            return None;
        }
        let sure = |one: &RankRow| (outside(one) - one.taken_outside_ns as f64).max(0.0);
        let most = self
            .all
            .ranks
            .iter()
            .max_by(|a, b| sure(a).total_cmp(&sure(b)))?;
        let others = self.all.ranks.iter().filter(|one| one.rank != most.rank);
        let of_others: f64 = others.map(outside).sum();
        let mean = (of_others + sure(most)) / self.ranks;
        let share = (sure(most) - mean) / self.ns;
        if share < WORTH_MENDING {
            return None;
        }
        let mut waits = self.all.waits.iter();
        let dearest = waits.find(|wait| wait.for_rank == most.rank);
        let in_collectives = dearest.is_none_or(|wait| wait.kind == WaitKind::LastRank);
        let last = self.all.late.as_ref();
        let last = last.filter(|late| late.rank == most.rank && in_collectives);
        let of_another = of_others / (self.ranks - 1.0).max(1.0);
        let (kind, action) = match sure(most) > SLOWER_MAX * of_another {
            true => (Kind::UnequalRanks, "give it less work, or more threads"),
            false => (
                Kind::UnequalOrSlowerRanks,
                "give it less work or more threads, unless another run has another rank in its place: then processors differ",
            ),
        };
        let (place, evidence) = match (last, dearest) {
            (Some(late), _) => (late.place.clone(), self.comes_last(late)),
            (None, dearest) => (
                dearest.map_or("the program".to_owned(), |wait| wait.place.clone()),
                format!(
                    "Rank {} is outside of MPI for {}, and the others for {} on the mean{}",
                    most.rank,
                    duration(outside(most)),
                    duration(of_another),
                    dearest.map_or(String::new(), |wait| format!(
                        "; they wait for it most in {}",
                        shorten(&wait.place, PLACE_CHARS)
                    ))
                ),
            ),
        };
        Some(RankCause {
            kind,
            place,
            rank: Some(most.rank),
            evidence,
            share,
            action: action.to_owned(),
        })
    }

    fn comes_last(&self, late: &Late) -> String {
        format!(
            "Rank {} comes last to {} of {} that need all ranks, and the others wait {} for it on the mean, {} of the run, most of that in {}",
            late.rank,
            count(late.times),
            plural(late.of, "call"),
            duration(late.waited_ns as f64),
            percent(late.waited_ns as f64 / self.ns),
            shorten(&late.place, PLACE_CHARS)
        )
    }

    /// The rank that comes last, though all work equally long in all.
    fn last_rank(&self, left: f64) -> Option<RankCause> {
        let late = self.all.late.as_ref()?;
        let of_all = (self.ranks - 1.0) / self.ranks;
        let share = late.sure_ns as f64 * of_all / self.ns * left;
        (share >= WORTH_MENDING).then(|| RankCause {
            kind: Kind::LastRank,
            place: late.place.clone(),
            rank: Some(late.rank),
            evidence: self.comes_last(late),
            share,
            action: "give ranks equal work between these calls".to_owned(),
        })
    }

    /// What most of the other waits are for.
    fn late_messages(&self, left: f64, heaviest: Option<u32>) -> Option<RankCause> {
        let others = self
            .all
            .waits
            .iter()
            .filter(|one| one.kind != WaitKind::LastRank && heaviest != Some(one.for_rank))
            .filter(|one| one.regular >= REGULAR_MIN);
        let dearest: &RankWait = others.max_by_key(|one| one.sure_ns)?;
        let share = dearest.sure_ns as f64 / self.ranks / self.ns * left;
        if share < WORTH_MENDING {
            return None;
        }
        let place = shorten(&dearest.place, PLACE_CHARS);
        let other = shorten(&dearest.other, PLACE_CHARS);
        let (kind, what, action) = match dearest.kind {
            WaitKind::LateSender => (
                Kind::LateSender,
                format!("wait in {place} for messages that {other} sends late"),
                "send earlier, or do other work before waiting",
            ),
            WaitKind::LateReceiver => (
                Kind::LateReceiver,
                format!("wait in {place} until {other} is ready to receive"),
                "post the receive earlier, or send without blocking",
            ),
            WaitKind::LateRoot => (
                Kind::LateRoot,
                format!("wait in {place} for the root, which comes late"),
                "let the root come earlier, or give its work to others",
            ),
            WaitKind::EarlyRoot | WaitKind::LastRank => (
                Kind::EarlyRoot,
                format!("wait as the root in {place} for the last rank"),
                "give the last rank less work, or let the root do some meanwhile",
            ),
        };
        let mean = dearest.waited_ns as f64 / self.ranks;
        Some(RankCause {
            kind,
            place: dearest.place.clone(),
            rank: None,
            evidence: format!(
                "Ranks {what}: {} in {} on the mean, {} of the run, longest rank {} for rank {}",
                duration(mean),
                plural(dearest.count, "call"),
                percent(mean / self.ns),
                dearest.rank,
                dearest.for_rank
            ),
            share,
            action: action.to_owned(),
        })
    }

    /// 1 if ranks run on several hosts, else 0.
    fn several_hosts(&self) -> usize {
        let hosts = |one: &RankRow| one.host == self.all.ranks[0].host;
        usize::from(!self.all.ranks.iter().all(hosts))
    }

    /// Bytes in a nanosecond that MPI moves, as far as the run shows it.
    fn bytes_per_ns(&self) -> f64 {
        let fastest = self.all.sent.iter().map(|one| one.bytes_per_ns);
        fastest.fold(BYTES_PER_NS[self.several_hosts()], f64::max)
    }

    /// Of places whose messages are of a kind, the dearest, and what all of them take of the run, if
    /// that is worth mending.
    fn messages(&self, is_it: impl Fn(&SentMessages) -> bool) -> Option<(&SentMessages, f64)> {
        let cost = |one: &SentMessages| one.count as f64 * one.message_ns;
        let found = || self.all.sent.iter().filter(|one| is_it(one));
        let share = (found().map(cost).sum::<f64>() / self.ranks / self.ns).min(1.0);
        let dearest = found().max_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        (share >= WORTH_MENDING).then_some((dearest, share))
    }

    /// Messages whose bytes take long, of all places together.
    fn large_messages(&self) -> Option<RankCause> {
        let bytes_per_ns = self.bytes_per_ns();
        let (dearest, share) = self.messages(|one| {
            let by_bytes = size(one) / bytes_per_ns > BYTES_PART_MAX * one.message_ns;
            by_bytes && size(one) >= LARGE_BYTES_MIN
        })?;
        Some(RankCause {
            kind: Kind::LargeMessages,
            place: dearest.place.clone(),
            rank: None,
            evidence: format!(
                "{} sends {} of {} on the mean, each takes {} in calls of both ranks; large messages take {} of the run",
                shorten(&dearest.place, PLACE_CHARS),
                plural(dearest.count, "message"),
                bytes(size(dearest).round() as u64),
                duration(dearest.message_ns),
                percent(share)
            ),
            share,
            action: "send only what the other rank needs, or begin early (MPI_Isend, MPI_Irecv) and compute meanwhile".to_owned(),
        })
    }

    /// Messages whose time does not come from their bytes, of all places together.
    fn small_messages(&self) -> Option<RankCause> {
        let (several, bytes_per_ns) = (self.several_hosts(), self.bytes_per_ns());
        let (dearest, share) = self.messages(|one| {
            one.message_ns <= MESSAGE_NS_MAX[several]
                && size(one) / bytes_per_ns <= BYTES_PART_MAX * one.message_ns
        })?;
        let in_a_row = dearest.in_a_row as f64 > 0.5 * dearest.count as f64;
        let (beside, action) = match in_a_row {
            true => (
                format!(
                    ", and {} of them follow another to the same rank with nothing received between",
                    count(dearest.in_a_row)
                ),
                "send in one message what goes to the same rank",
            ),
            false => (String::new(), "exchange more at a time and less often"),
        };
        Some(RankCause {
            kind: Kind::SmallMessages,
            place: dearest.place.clone(),
            rank: None,
            evidence: format!(
                "{} sends {} of {} on the mean, each takes {} in calls of both ranks, of which its bytes explain at most {}{beside}; small messages take {} of the run",
                shorten(&dearest.place, PLACE_CHARS),
                plural(dearest.count, "message"),
                bytes(size(dearest).round() as u64),
                duration(dearest.message_ns),
                duration(size(dearest) / bytes_per_ns),
                percent(share)
            ),
            share,
            action: action.to_owned(),
        })
    }

    /// Threads of the rank that loses most by it, at MPI's entry.
    fn turns(&self) -> Option<RankCause> {
        let take_turns = |one: &&Turns| one.together_ns >= TURNS_RATIO * one.alone_ns;
        let turns = || self.all.turns.iter().filter(take_turns);
        let dearest = turns().next()?;
        let here = turns().filter(|one| one.rank == dearest.rank);
        let lost = here.map(Turns::lost_ns).sum::<f64>();
        let share = lost / f64::from(dearest.threads.max(1)) / self.ns;
        (share >= WORTH_MENDING).then(|| RankCause {
            kind: Kind::MpiTurns,
            place: dearest.place.clone(),
            rank: Some(dearest.rank),
            evidence: format!(
                "Threads of rank {} take turns in MPI: where {} is called while another thread is in MPI, {} take {} each, and {} where none is; they lose {} of the run",
                dearest.rank,
                shorten(&dearest.place, PLACE_CHARS),
                plural(dearest.count, "call"),
                duration(dearest.together_ns),
                duration(dearest.alone_ns),
                percent(share)
            ),
            share,
            action: "let one thread call MPI for all of them, with messages put together".to_owned(),
        })
    }

    /// Threads wait at a lock of the program's for the one that is in MPI.
    fn locked(&self) -> Option<RankCause> {
        let dearest = self.all.locked.first()?;
        let waited = dearest.waited_ns as f64;
        let share = waited / f64::from(dearest.threads.max(1)) / self.ns;
        (share >= WORTH_MENDING).then(|| RankCause {
            kind: Kind::MpiTurns,
            place: dearest.place.clone(),
            rank: Some(dearest.rank),
            evidence: format!(
                "Threads of rank {} wait {} times for a lock or critical section while another of them is in MPI, most in {}: {} in all, {} of the run for each",
                dearest.rank,
                count(dearest.count),
                shorten(&dearest.place, PLACE_CHARS),
                duration(waited),
                percent(share)
            ),
            share,
            action: "call MPI outside of the lock, or by one thread with messages put together".to_owned(),
        })
    }

    /// A rank lacked a processor, and others waited meanwhile.
    fn without_processor(&self) -> Option<RankCause> {
        let most = self.all.ranks.iter().max_by_key(|one| one.taken_ns)?;
        let taken = most.taken_ns as f64 / self.ns;
        (taken >= WORTH_SAYING && self.waits_share() >= WORTH_SAYING).then(|| RankCause {
            kind: Kind::OtherPrograms,
            place: format!("rank {}", most.rank),
            rank: Some(most.rank),
            evidence: format!(
                "Rank {} was ready to run without a processor for {} of the run, and ranks wait for each other meanwhile",
                most.rank,
                percent(taken)
            ),
            share: taken.min(self.waits_share()),
            action: "run ranks where no other programs do".to_owned(),
        })
    }
}
