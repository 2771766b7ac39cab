//! Random programs without data races.
//!
//! Between two barriers a byte is written by one thread and touched by no
//! other, or read by anybody and written by nobody, or touched under one lock
//! only. Neighbouring bytes of a page get different fates, so that pages have
//! several writers.

use crate::program::{Address, Program, Step};
use fathomp_protocols::LockId;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt};

/// How large programs get. All bounds are inclusive and at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Nodes.
    pub nodes_max: u16,
    /// Threads per node.
    pub threads_max: u16,
    /// Pages.
    pub pages_max: u32,
    /// Stretches between barriers.
    pub phases_max: u32,
    /// Steps of a thread in a stretch.
    pub steps_max: u32,
    /// Locks.
    pub locks_max: u32,
    /// Whether most of a page is often one thread's from one barrier to the next.
    pub alone: bool,
}

/// What may be done with a byte until the next barrier.
#[derive(Clone, Copy)]
enum Fate {
    OwnedBy(usize),
    ReadOnly,
    Under(LockId),
    /// Part of a message.
    Passed,
}

/// Data that one thread writes and another reads after it has seen a flag. No
/// thread waits before it has written its own messages.
struct Message {
    writer: usize,
    reader: usize,
    data: Vec<Address>,
    flag: Address,
}

impl Message {
    fn random(
        threads: usize,
        flag: Address,
        fates: &mut [(Address, Fate)],
        random: &mut impl Rng,
    ) -> Self {
        let writer = random.random_range(0..threads);
        let number = random.random_range(1..=4);
        let mut own: Vec<_> = fates
            .iter_mut()
            .filter(|(_, fate)| matches!(fate, Fate::OwnedBy(owner) if *owner == writer))
            .collect();
        own.shuffle(random);
        own.truncate(number);
        let data = own.into_iter().map(|(byte, fate)| {
            *fate = Fate::Passed;
            *byte
        });
        Self {
            writer,
            reader: (writer + random.random_range(1..threads)) % threads,
            data: data.collect(),
            flag,
        }
    }

    fn write(&self, steps: &mut Vec<Step>, random: &mut impl Rng) {
        for byte in &self.data {
            steps.push(Step::Write(*byte, random.random()));
            if random.random_ratio(1, 5) {
                steps.push(Step::Flush);
            }
        }
        steps.push(Step::Write(self.flag, 1));
    }

    fn read(&self, steps: &mut Vec<Step>, random: &mut impl Rng) {
        // Copies that are out of date later.
        steps.splice(0..0, self.data.iter().map(|byte| Step::Observe(*byte)));
        steps.push(if random.random() {
            Step::Spin(self.flag, 1)
        } else {
            Step::Await(self.flag, 1)
        });
        steps.extend(self.data.iter().map(|byte| Step::Read(*byte)));
    }
}

/// A program of at most that shape.
pub fn random_program(shape: Shape, random: &mut impl Rng) -> Program {
    let nodes = usize::from(random.random_range(1..=shape.nodes_max));
    let per_node = usize::from(random.random_range(1..=shape.threads_max));
    let pages = random.random_range(1..=shape.pages_max);
    let locks = random.random_range(1..=shape.locks_max);
    let threads = nodes * per_node;
    let bytes: Vec<_> = (0..pages * 4)
        .map(|i| Address::at(i / 4, random.random_range(0..6) + 700 * (i % 4)))
        .collect();
    let mut steps = vec![Vec::new(); threads];
    for phase in 0..random.random_range(1..=shape.phases_max) {
        if phase > 0 {
            steps
                .iter_mut()
                .for_each(|thread| thread.push(Step::Barrier));
        }
        let mut bytes = bytes.clone();
        bytes.sort_unstable();
        bytes.dedup();
        let alone: Vec<_> = (0..if shape.alone { pages } else { 0 })
            .map(|_| {
                random
                    .random_ratio(3, 4)
                    .then(|| random.random_range(0..threads))
            })
            .collect();
        let mut fates: Vec<_> = bytes
            .into_iter()
            .map(|byte| {
                let alone = alone.get(byte.page().0 as usize).copied().flatten();
                let fate = match alone.filter(|_| random.random_ratio(3, 4)) {
                    Some(thread) => Fate::OwnedBy(thread),
                    None => match random.random_range(0..8) {
                        0 => Fate::ReadOnly,
                        1 | 2 => Fate::Under(LockId(u64::from(random.random_range(0..locks)))),
                        _ => Fate::OwnedBy(random.random_range(0..threads)),
                    },
                };
                (byte, fate)
            })
            .collect();
        let flag = Address::at(random.random_range(0..pages), 3000 + phase);
        let passes = threads > 1 && random.random_ratio(1, 3);
        let message = passes.then(|| Message::random(threads, flag, &mut fates, random));
        if let Some(message) = &message {
            message.write(&mut steps[message.writer], random);
        }
        for (number, thread) in steps.iter_mut().enumerate() {
            stretch(number, &fates, shape, random, thread);
        }
        if let Some(message) = message {
            message.read(&mut steps[message.reader], random);
        }
    }
    // Otherwise a node that has ended would tell nobody what it wrote.
    steps
        .iter_mut()
        .for_each(|thread| thread.push(Step::Barrier));
    let mut steps = steps.into_iter();
    Program {
        pages,
        threads: (0..nodes)
            .map(|_| steps.by_ref().take(per_node).collect())
            .collect(),
    }
}

/// The lock of what threads share that take no part in barriers.
const OWN_THREADS: LockId = LockId(u64::MAX - 1);

/// Adds threads that take no part in barriers, as programs start them by themselves.
/// Those of node 0 share some bytes with the others, under a lock; there may be one on
/// another node, with bytes of its own in pages of all.
pub fn add_own_threads(program: &mut Program, random: &mut impl Rng) {
    let bytes = share_with_own_threads(program, random);
    add_own_threads_at(0, program, &bytes, random);
    let own: Vec<_> = (0..program.pages)
        .map(|page| Address::at(page, 3510))
        .collect();
    let touches = (0..random.random_range(0..40)).filter_map(|_| own.choose(random).copied());
    let steps: Vec<_> = touches.collect();
    let steps = steps.into_iter().map(|byte| touch(byte, random)).collect();
    let node = random.random_range(0..program.threads.len());
    program.threads[node].push(steps);
}

/// Adds such threads at every other node or so, all of which take the lock.
pub fn add_own_threads_anywhere(program: &mut Program, random: &mut impl Rng) {
    let bytes = share_with_own_threads(program, random);
    for node in 0..program.threads.len() {
        if random.random() {
            add_own_threads_at(node, program, &bytes, random);
        }
    }
}

/// Lets the threads of a program touch bytes, under a lock, that its own threads touch.
fn share_with_own_threads(program: &mut Program, random: &mut impl Rng) -> Vec<Address> {
    let bytes: Vec<_> = (0..program.pages)
        .map(|page| Address::at(page, 3500 + random.random_range(0..4)))
        .collect();
    for thread in program.threads.iter_mut().flatten() {
        let old = std::mem::take(thread);
        for step in old {
            thread.push(step);
            if step == Step::Barrier && random.random_ratio(1, 3) {
                thread.extend(section(&bytes, random));
            }
        }
        thread.push(Step::Barrier);
    }
    bytes
}

fn add_own_threads_at(
    node: usize,
    program: &mut Program,
    bytes: &[Address],
    random: &mut impl Rng,
) {
    for _ in 0..random.random_range(1..=2) {
        let sections = (0..random.random_range(1..=12)).flat_map(|_| section(bytes, random));
        let steps = sections.collect();
        program.threads[node].push(steps);
    }
}

/// What may be done with a byte that is updated at times.
#[derive(Clone, Copy)]
enum Counted {
    Updated,
    WrittenBy(usize),
    Read,
}

/// Lets the threads of a program update bytes that lie beside others. Between two barriers
/// each of these is updated by anybody, or written by one thread, or read. Messages are
/// passed by bytes that their reader polls, and their writer updates or writes.
pub fn add_updates(program: &mut Program, random: &mut impl Rng) {
    let counters: Vec<_> = (0..2 * program.pages)
        .map(|at| Address::at(at / 2, 3600 + 8 * (at % 2)))
        .collect();
    let pages = program.pages;
    let mut threads: Vec<_> = program.threads.iter_mut().flatten().collect();
    let members: Vec<_> = (0..threads.len())
        .filter(|thread| threads[*thread].contains(&Step::Barrier))
        .collect();
    let phases = threads.iter().map(|steps| barriers(steps)).max();
    for phase in 0..phases.unwrap_or(0) {
        let fates: Vec<_> = counters
            .iter()
            .map(|counter| {
                let fate = match random.random_range(0..6) {
                    0 => Counted::Read,
                    1 => Counted::WrittenBy(members[random.random_range(0..members.len())]),
                    _ => Counted::Updated,
                };
                (*counter, fate)
            })
            .collect();
        let mut added = vec![Vec::new(); threads.len()];
        for thread in &members {
            for _ in 0..random.random_range(0..10) {
                let Some((counter, fate)) = fates.choose(random).copied() else {
                    continue;
                };
                added[*thread].extend(match fate {
                    Counted::Updated => Some(Step::Update(counter, random.random())),
                    Counted::Read => Some(Step::Read(counter)),
                    Counted::WrittenBy(writer) if writer == *thread => Some(touch(counter, random)),
                    Counted::WrittenBy(_) => None,
                });
            }
        }
        for (thread, steps) in added.into_iter().enumerate() {
            for step in steps {
                let phase = stretch_in(threads[thread], phase);
                let at = random.random_range(phase);
                // Not between a lock's taking and giving back if that may be left out.
                let at = (0..=at)
                    .rev()
                    .find(|at| is_outside(&threads[thread][..*at]));
                threads[thread].insert(at.unwrap_or(0), step);
            }
        }
        if members.len() > 1 && random.random() {
            let page = random.random_range(0..pages);
            let place = |offset| Address::at(page, offset + 8 * (phase as u32 % 16));
            let (data, flag) = (place(3700), place(3701));
            let mut two = members.clone();
            two.shuffle(random);
            let (writer, reader) = (two[0], two[1]);
            let value = random.random();
            let tells = match random.random() {
                true => Step::Update(flag, 1),
                false => Step::Write(flag, 1),
            };
            let start = stretch_in(threads[writer], phase).start;
            threads[writer].splice(start..start, [Step::Write(data, value), tells]);
            let end = stretch_in(threads[reader], phase).end - 1;
            threads[reader].splice(end..end, [Step::Poll(flag, 1), Step::Read(data)]);
            let start = stretch_in(threads[reader], phase).start;
            if random.random() {
                threads[reader].insert(start, Step::Observe(data));
            }
        }
    }
}

fn barriers(steps: &[Step]) -> usize {
    let barriers = steps.iter().filter(|step| **step == Step::Barrier);
    barriers.count()
}

/// Where steps of a phase can be put: from behind the barrier before it to its end.
fn stretch_in(steps: &[Step], phase: usize) -> std::ops::Range<usize> {
    let ends = steps.iter().enumerate();
    let ends = ends.filter(|(_, step)| **step == Step::Barrier);
    let ends: Vec<_> = ends.map(|(at, _)| at).collect();
    let start = phase.checked_sub(1).map_or(0, |before| ends[before] + 1);
    start..ends[phase] + 1
}

/// Whether no lock is held behind these steps.
fn is_outside(steps: &[Step]) -> bool {
    let (mut taken, mut given) = (0, 0);
    for step in steps {
        taken += u32::from(matches!(step, Step::Acquire(_) | Step::TryAcquire(..)));
        given += u32::from(matches!(step, Step::Release(_)));
    }
    taken == given
}

fn section(bytes: &[Address], random: &mut impl Rng) -> Vec<Step> {
    let mut steps = vec![Step::Acquire(OWN_THREADS)];
    for _ in 0..random.random_range(1..=3) {
        steps.extend(bytes.choose(random).map(|byte| touch(*byte, random)));
    }
    steps.push(Step::Release(OWN_THREADS));
    if random.random_ratio(1, 8) {
        steps.push(Step::Flush);
    }
    steps
}

/// What one thread does between two barriers.
fn stretch(
    thread: usize,
    fates: &[(Address, Fate)],
    shape: Shape,
    random: &mut impl Rng,
    steps: &mut Vec<Step>,
) {
    for _ in 0..random.random_range(0..=shape.steps_max) {
        let Some((byte, fate)) = fates.choose(random).copied() else {
            return;
        };
        match fate {
            Fate::OwnedBy(owner) if owner != thread => {}
            Fate::Passed => {}
            Fate::ReadOnly => steps.push(Step::Read(byte)),
            Fate::OwnedBy(_) => steps.push(touch(byte, random)),
            Fate::Under(lock) => {
                let mut inside: Vec<_> = fates
                    .iter()
                    .filter(|(_, f)| matches!(f, Fate::Under(other) if *other == lock))
                    .map(|(byte, _)| *byte)
                    .collect();
                inside.shuffle(random);
                inside.truncate(random.random_range(1..=3));
                steps.push(if random.random_ratio(1, 4) {
                    Step::TryAcquire(lock, inside.len() + 1)
                } else {
                    Step::Acquire(lock)
                });
                steps.extend(inside.into_iter().map(|byte| touch(byte, random)));
                steps.push(Step::Release(lock));
            }
        }
        if random.random_ratio(1, 10) {
            steps.push(Step::Flush);
        }
    }
}

fn touch(byte: Address, random: &mut impl Rng) -> Step {
    if random.random() {
        Step::Write(byte, random.random())
    } else {
        Step::Read(byte)
    }
}
