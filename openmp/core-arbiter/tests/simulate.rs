//! Programs at a board, in simulated time, from a seed: some are honest, others die at any
//! step, stop for ever, write garbage into their slots, or claim everything. What honest ones
//! get is judged from outside, by what the simulation knows and the programs do not.

use fathomp_core_arbiter::layout::Shape;
use fathomp_core_arbiter::observer::{Beginning, Observer};
use fathomp_core_arbiter::policy::ARRIVAL_NS;
use fathomp_core_arbiter::presence::{Owner, PERIOD_NS, Processes, Seen};
use fathomp_core_arbiter::{Activity, Board, Claim, Cores, Speedup};
use fathomp_stats::Random;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Character {
    Honest,
    /// Ends without a word at this moment.
    Mortal(u64),
    /// Is stopped at this moment, in whatever it does.
    Stops(u64),
    /// Writes any words into its slot.
    Garbage,
    /// Claims to be in a region that gains from all cores, and to hold them all.
    Liar,
}

struct Program {
    character: Character,
    owner: Owner,
    observer: Observer,
    claim: Claim,
    changes: u32,
    /// What cores bring to its regions.
    parallel: f64,
    next_ns: u64,
    /// When it ended or was stopped.
    gone_ns: Option<u64>,
    decisions: u32,
}

/// What the kernel of the simulation says.
struct Known(Vec<(Owner, u64, Option<u64>, bool)>, u64);

impl Processes for Known {
    fn look(&mut self, pid: u32) -> Option<Seen> {
        let Self(all, now) = self;
        let (owner, _, gone, stops) = all.iter().find(|one| one.0.pid == pid)?;
        let gone = gone.is_some_and(|gone| gone <= *now);
        match (gone, stops) {
            (true, false) => None,
            (true, true) => Some(Seen {
                began: owner.began,
                state: b'T',
            }),
            (false, _) => Some(Seen {
                began: owner.began,
                state: b'R',
            }),
        }
    }
}

/// Where slots begin, and how long they are: words of the layout.
const SLOTS: usize = 128;
const SLOT: usize = 48;

const END_NS: u64 = 3_000_000_000;

fn character(random: &mut Random) -> Character {
    match random.below(8) {
        0 => Character::Mortal(random.number() % END_NS),
        1 => Character::Stops(random.number() % END_NS),
        2 => Character::Garbage,
        3 => Character::Liar,
        _ => Character::Honest,
    }
}

fn simulate(seed: u64) {
    let mut random = Random(seed);
    let slots = 2 + random.below(5);
    let cores = 1 + random.below(40) as u32;
    let shape = Shape {
        slots,
        cores,
        events: false,
    };
    let words: Vec<AtomicU64> = (0..shape.words()).map(|_| AtomicU64::new(0)).collect();
    let numbers: Vec<u32> = (0..cores).collect();
    let board = Board::format(&words, shape, &numbers).unwrap();
    let mut programs: Vec<Program> = (0..slots)
        .map(|slot| {
            let owner = Owner {
                pid: 100 + slot as u32,
                began: seed as u32,
            };
            let parallel = random.below(1000) as f64 / 1000.0;
            Program {
                character: if slot == 0 {
                    Character::Honest
                } else {
                    character(&mut random)
                },
                owner,
                observer: Observer::new(slot),
                claim: Claim {
                    activity: Activity::Serial,
                    wanted: 1,
                    speedup: Speedup::from_fn(|p| 1.0 / (1.0 - parallel + parallel / f64::from(p))),
                    ..Claim::default()
                },
                changes: 0,
                parallel,
                next_ns: random.number() % 1_000_000,
                gone_ns: None,
                decisions: 0,
            }
        })
        .collect();
    for program in &mut programs {
        program.gone_ns = match program.character {
            Character::Mortal(at) | Character::Stops(at) => Some(at),
            _ => None,
        };
    }
    for slot in board.slots() {
        slot.announce(0);
    }
    let known: Vec<_> = programs
        .iter()
        .map(|one| {
            (
                one.owner,
                one.next_ns,
                one.gone_ns,
                matches!(one.character, Character::Stops(_)),
            )
        })
        .collect();
    let mut kernel = Known(known, 0);
    for (slot, program) in board.slots().zip(&programs) {
        assert!(slot.take(None, program.owner));
    }

    loop {
        let (index, now) = programs
            .iter()
            .enumerate()
            .map(|(index, one)| (index, one.next_ns))
            .min_by_key(|(_, next)| *next)
            .unwrap();
        if now >= END_NS {
            break;
        }
        kernel.1 = now;
        step(
            seed,
            index,
            now,
            &board,
            &words,
            &mut programs,
            &mut kernel,
            &mut random,
        );
    }
    assert!(
        programs[0].decisions > 10,
        "seed {seed}: the first program hardly ran"
    );
}

#[expect(clippy::too_many_arguments, reason = "all of the simulation's state")]
fn step(
    seed: u64,
    index: usize,
    now: u64,
    board: &Board<'_>,
    words: &[AtomicU64],
    programs: &mut [Program],
    kernel: &mut Known,
    random: &mut Random,
) {
    let cores = board.shape().cores;
    let slot = board.slot(index).unwrap();
    if programs[index].gone_ns.is_some_and(|gone| gone <= now) {
        programs[index].next_ns = u64::MAX;
        return;
    }
    let length = 10_000 << random.below(12);
    programs[index].next_ns = now + length;
    match programs[index].character {
        Character::Garbage => {
            let first = SLOTS + index * SLOT;
            for word in &words[first + 1..first + SLOT] {
                word.store(random.number(), Ordering::Relaxed);
            }
            return;
        }
        Character::Liar => {
            let claim = Claim {
                activity: Activity::Region,
                wanted: u32::MAX,
                held: Cores::first(cores),
                since_ns: random.number(),
                ..Claim::default()
            };
            slot.post(&claim, 1);
            return;
        }
        _ => {}
    }
    let living = programs
        .iter()
        .filter(|one| {
            let Some(gone) = one.gone_ns else { return true };
            // It may take so long until that is noticed.
            now < gone.saturating_add(PERIOD_NS + 1)
        })
        .count() as u32;
    let present = (living.max(1), programs.len());
    let program = &mut programs[index];
    program.changes += 1;
    if program.claim.activity == Activity::Region {
        program.claim.activity = Activity::Serial;
        program.claim.serial_ns = Some(length);
        program.claim.held = program.claim.held.iter().take(1).collect();
        program.claim.since_ns = now;
        slot.post(&program.claim, program.changes);
        return;
    }
    let wanted = cores;
    let beginning = Beginning {
        wanted,
        expected_ns: (random.below(2) == 0).then_some(length),
        now_ns: now,
    };
    let decided = program
        .observer
        .decide(board, &program.claim, &beginning, kernel);
    let got = decided.map_or(cores, Cores::len);
    program.decisions += 1;

    // Its share, as far as more cores bring it anything worth the name.
    let fair = cores / present.0;
    let speedup = program.claim.speedup;
    let enough = (1..=cores)
        .find(|p| speedup.at(p + 1) - speedup.at(*p) < 0.35)
        .unwrap_or(cores);
    let floor = fair.min(enough).max(1);
    assert!(
        got >= floor,
        "seed {seed}: program {index} (parallel {}) got {got} of {cores} cores at {now}, \
         where {floor} were due among {present:?}",
        program.parallel
    );
    assert!(got <= cores, "seed {seed}");
    // Whoever died long ago costs nothing: an honest program that is alone has all.
    let others = kernel
        .0
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != index);
    let all_gone = others
        .clone()
        .all(|(_, one)| one.2.is_some_and(|gone| gone + PERIOD_NS < now));
    if all_gone && now > ARRIVAL_NS {
        assert_eq!(decided, None, "seed {seed}: the dead have cores at {now}");
    }
    program.claim = Claim {
        activity: Activity::Region,
        wanted,
        held: decided.unwrap_or(Cores::first(cores)),
        since_ns: now,
        ..program.claim
    };
    slot.post(&program.claim, program.changes);
    // Somebody else may write into any slot, too.
    if random.below(50) == 0 {
        let at = SLOTS + random.below(words.len() - SLOTS);
        if !(at - SLOTS).is_multiple_of(SLOT) {
            words[at].store(random.number(), Ordering::Relaxed);
        }
    }
}

#[test]
fn whatever_others_do_an_honest_program_has_its_share() {
    for seed in 0..80 {
        simulate(seed);
    }
}

#[test]
fn a_board_of_garbage_is_refused_or_used_within_its_bounds() {
    for seed in 0..500 {
        let mut random = Random(seed);
        let shape = Shape {
            slots: 3,
            cores: 8,
            events: true,
        };
        let length = if seed % 3 == 0 {
            random.below(300)
        } else {
            shape.words()
        };
        let words: Vec<AtomicU64> = (0..length)
            .map(|_| AtomicU64::new(random.number()))
            .collect();
        assert!(Board::open(&words).is_err());
        if length < shape.words() {
            assert!(Board::format(&words, shape, &[0, 1]).is_err());
            continue;
        }
        Board::format(&words, shape, &[0, 1]).unwrap();
        for word in words.iter().skip(16) {
            if random.below(2) == 0 {
                word.store(random.number(), Ordering::Relaxed);
            }
        }
        let board = Board::open(&words).unwrap();
        let mut observer = Observer::new(1);
        let beginning = Beginning {
            wanted: 8,
            expected_ns: None,
            now_ns: random.number(),
        };
        let decided = observer.decide(&board, &Claim::default(), &beginning, &mut Known(vec![], 0));
        assert!(decided.is_none_or(|cores| (2..=8).contains(&cores.len())));
        for slot in board.slots() {
            let mut reader = fathomp_core_arbiter::events::Reader::default();
            slot.log().unwrap().read(&mut reader, |_| {});
        }
    }
}
