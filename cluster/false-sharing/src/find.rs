//! Lines and their names to findings, ranked, with what mends them.

use crate::LINE_BYTES;
use crate::gather::{Block, Gathered};
use crate::lines::{LineFacts, ReadFacts, words};
use crate::log::{Frame, Region, Stop};
use crate::mend;
use fathomp_shared_lines::{Evidence, Findings, Kind, RegionAtomics, SharedLine, Site};
use std::collections::{BTreeMap, BTreeSet};

/// Source lines, regions and parts that are named of a finding.
const NAMED_MAX: usize = 8;

/// Below this a contended line costs next to nothing.
const FREE_NS: f64 = 1.0;

/// A variable at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The variable.
    pub name: String,
    /// Address of its first byte.
    pub base: u64,
    /// What of it lies there, such as `hits[3]` or `a.n`; its name if that is all.
    pub part: String,
    /// Where it is declared.
    pub declared: Option<Site>,
}

/// What is asked of a program's file, for addresses in memory.
pub trait Names {
    /// The variable at an address.
    fn variable(&self, address: u64) -> Option<Spot>;
    /// Whether an address belongs to what the dynamic linker writes.
    fn is_linkage(&self, address: u64) -> bool;
    /// A place in the program's code; none for other code.
    fn code(&self, instruction: u64) -> Option<Site>;
    /// A region.
    fn region(&self, region: Region) -> Site;
    /// A variable on the stack while functions are active, as [`Record::Frames`] says.
    ///
    /// [`Record::Frames`]: crate::log::Record::Frames
    fn local(&self, frames: &[Frame], address: u64) -> Option<Spot>;
    /// A block that the callers at these return addresses allocated: what it is assigned
    /// to and, of the byte at an offset, which part.
    fn block(&self, frames: &[u64], offset: u64) -> Option<(String, String)>;
    /// Whether an instruction counts references to an object that is shared.
    fn counts_references(&self, _instruction: u64) -> bool {
        false
    }
}

/// What accesses cost, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// One plain write to a line that another thread writes, beyond one that it does not.
    pub plain_ns: Option<f64>,
    /// The same for an atomic instruction.
    pub atomic_ns: Option<f64>,
}

/// What is known beside the notes.
pub struct Situation {
    /// Nodes.
    pub threads: u16,
    /// What accesses cost.
    pub prices: Prices,
    /// Atomic instructions in the code of each region.
    pub atomics: Vec<RegionAtomics>,
}

/// What a line belongs to: by it, lines are one finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    /// A variable by its address.
    Variable(u64),
    /// Blocks by the code that allocated them.
    Heap(Vec<u64>),
    /// A line that has no name.
    Line(u64),
}

/// Of a line, the bytes of one owner.
struct Share {
    owner: Owner,
    name: String,
    part: String,
    /// From the beginning of the variable or block.
    offset: u64,
    declared: Option<Site>,
    frames: Vec<u64>,
    bytes: u64,
}

/// Findings that are one.
struct Group {
    kind: Kind,
    names: Vec<String>,
    parts: Vec<String>,
    heap: bool,
    offset: u64,
    address: u64,
    declared: Option<Site>,
    frames: Vec<u64>,
    lines: u64,
    boundaries: u64,
    phases: u64,
    writers: BTreeSet<u16>,
    readers: BTreeSet<u16>,
    accesses: u64,
    atomics: u64,
    locked: u64,
    regions: BTreeMap<Region, u64>,
    instructions: BTreeMap<u64, u64>,
    both_wrote: bool,
    evidence: Evidence,
}

/// Turns what happened to lines into findings.
#[must_use]
pub fn find(gathered: &Gathered, names: &impl Names, situation: Situation) -> Findings {
    let mut groups: BTreeMap<(Kind, Vec<Owner>), Group> = BTreeMap::new();
    let mut named = NamedBlocks::default();
    for (line, facts) in &gathered.lines {
        let mut shared: Vec<Owner> = Vec::new();
        for (kind, bytes) in kinds(facts) {
            let mut shares = shares(gathered, names, &mut named, *line, bytes);
            if kind == Kind::True {
                shared = shares.iter().map(|share| share.owner.clone()).collect();
            } else {
                // What lies beside it in other elements of the same variable is likely to
                // be shared at another time.
                shares.retain(|share| !shared.contains(&share.owner));
            }
            if shares.is_empty() {
                continue;
            }
            // What threads share at the same bytes they would share in lines of its own.
            let apart: Vec<Vec<Share>> = match kind {
                Kind::True => by_owner(shares),
                _ => vec![shares],
            };
            for shares in apart {
                let mut owners: Vec<_> = shares.iter().map(|s| s.owner.clone()).collect();
                owners.dedup();
                let group = groups
                    .entry((kind, owners))
                    .or_insert_with(|| Group::new(kind, *line, &shares));
                group.add(&shares, facts);
            }
        }
    }
    for (line, facts) in &gathered.reads {
        // What is written in other phases is named there.
        if gathered.lines.contains_key(line) {
            continue;
        }
        for share in shares(gathered, names, &mut named, *line, facts.bytes) {
            if matches!(share.owner, Owner::Line(_)) {
                continue;
            }
            let shares = [share];
            let group = groups
                .entry((Kind::ReadMostly, vec![shares[0].owner.clone()]))
                .or_insert_with(|| Group::new(Kind::ReadMostly, *line, &shares));
            group.add_reads(&shares, facts);
        }
    }
    let groups = groups.into_values();
    let groups = groups.filter(|g| g.kind != Kind::ReadMostly || g.readers.len() > 1);
    let mut lines: Vec<_> = groups
        .map(|group| group.finding(names, situation.prices))
        .collect();
    lines.sort_by(|a, b| {
        let cost = |line: &SharedLine| line.est_cost_ns.unwrap_or(0.0);
        (a.kind, a.boundary)
            .cmp(&(b.kind, b.boundary))
            .then(cost(b).total_cmp(&cost(a)))
            .then((b.accesses, b.lines).cmp(&(a.accesses, a.lines)))
            .then(a.address.cmp(&b.address))
    });
    Findings {
        threads: situation.threads,
        phases: gathered.phases,
        complete: gathered.complete,
        contended_ns: situation.prices.plain_ns,
        notes: notes(gathered, &lines, situation.prices),
        lines,
        atomics: situation.atomics,
    }
}

fn by_owner(shares: Vec<Share>) -> Vec<Vec<Share>> {
    let mut all: Vec<Vec<Share>> = Vec::new();
    for share in shares {
        match all.iter_mut().find(|one| one[0].owner == share.owner) {
            Some(one) => one.push(share),
            None => all.push(vec![share]),
        }
    }
    all
}

/// In which ways a line is shared, and at which bytes.
fn kinds(facts: &LineFacts) -> Vec<(Kind, u64)> {
    let own = |facts: &LineFacts| facts.own.values().fold(0, |all, bytes| all | bytes);
    if facts.true_phases > 0 {
        let beside = facts.own_wrote & !facts.same;
        return vec![(Kind::True, facts.same), (Kind::False, beside)];
    }
    // Threads that only read matter where another writes.
    let bytes = match facts.writers.len() {
        0 | 1 => own(facts) | facts.wrote,
        _ => facts.own_wrote,
    };
    vec![(Kind::False, bytes)]
}

fn notes(gathered: &Gathered, lines: &[SharedLine], prices: Prices) -> Vec<String> {
    let mut notes = Vec::new();
    match gathered.stopped {
        Some(Stop::Time) => notes.push(format!(
            "The time was over before the program's end: {} were looked at, and accesses after that are not counted.",
            mend::plural(gathered.phases, "phase")
        )),
        Some(Stop::Size) => notes.push(
            "What the program writes takes more room than a file may have: the rest of it was not looked at.".to_owned(),
        ),
        None if !gathered.complete => notes.push(
            "The program ended in its midst: what it did after the last barrier is not known in full.".to_owned(),
        ),
        None => {}
    }
    let free = |ns: f64| ns < FREE_NS;
    if prices.plain_ns.is_some_and(free) && prices.atomic_ns.is_some_and(free) {
        notes.push(
            "A line that two threads write costs hardly more on this machine than lines of their own: its processors share their nearest cache, or others used them while it was measured. Elsewhere it costs 10 to 100 ns an access.".to_owned(),
        );
    }
    if prices.plain_ns.is_none() && lines.iter().any(|line| line.kind != Kind::ReadMostly) {
        notes.push(
            "What a contended line costs is not known: `fathomp calibrate` measures it where there are two processors."
                .to_owned(),
        );
    }
    notes
}

/// So many times a part of the blocks that are allocated at one place is named; to read the source
/// for each element of large arrays would take minutes.
const PARTS_NAMED: u32 = 20_000;

/// Places where blocks are allocated, how often one was named, and the blocks' name.
#[derive(Default)]
struct NamedBlocks<'g>(BTreeMap<&'g [u64], (u32, String)>);

impl<'g> NamedBlocks<'g> {
    /// All bytes of a line that lie in a block which was named often enough.
    fn whole(&self, gathered: &'g Gathered, line: u64, address: u64) -> Option<Share> {
        let (start, block) = gathered.block(address)?;
        let (times, name) = self.0.get(block.frames.as_slice())?;
        let end = start.saturating_add(block.bytes).min(line + LINE_BYTES);
        let inside = (line.max(start)..end).fold(0, |all, byte| all | 1 << (byte - line));
        (*times >= PARTS_NAMED).then(|| Share {
            owner: Owner::Heap(block.frames.clone()),
            name: name.clone(),
            part: name.clone(),
            offset: address - start,
            declared: None,
            frames: block.frames.clone(),
            bytes: inside,
        })
    }

    fn note(&mut self, gathered: &'g Gathered, address: u64, share: &Share) {
        if let (Owner::Heap(_), Some((_, block))) = (&share.owner, gathered.block(address)) {
            let known = self.0.entry(&block.frames);
            known.or_insert_with(|| (0, share.name.clone())).0 += 1;
        }
    }
}

/// What the bytes of a line belong to.
fn shares<'g>(
    gathered: &'g Gathered,
    names: &impl Names,
    named: &mut NamedBlocks<'g>,
    line: u64,
    bytes: u64,
) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    let mut left = bytes;
    while left != 0 {
        let byte = u64::from(left.trailing_zeros());
        left &= left - 1;
        let address = line + byte;
        if let Some(mut share) = named.whole(gathered, line, address) {
            let inside = share.bytes;
            share.bytes &= bytes;
            left &= !inside;
            shares.push(share);
            continue;
        }
        if names.is_linkage(address) {
            continue;
        }
        let share = share(gathered, names, line, address);
        named.note(gathered, address, &share);
        let alike = |one: &&mut Share| one.owner == share.owner && one.part == share.part;
        match shares.iter_mut().find(alike) {
            Some(one) => one.bytes |= 1 << byte,
            None => shares.push(share),
        }
    }
    shares
}

fn share(gathered: &Gathered, names: &impl Names, line: u64, address: u64) -> Share {
    let bytes = 1 << (address - line);
    let local = || names.local(gathered.frames(address), address);
    if let Some(spot) = names.variable(address).or_else(local) {
        return Share {
            owner: Owner::Variable(spot.base),
            name: spot.name,
            part: spot.part,
            offset: address - spot.base,
            declared: spot.declared,
            frames: Vec::new(),
            bytes,
        };
    }
    if let Some((
        start,
        Block {
            bytes: size,
            frames,
            ..
        },
    )) = gathered.block(address)
    {
        let offset = address - start;
        let (name, part) = names.block(frames, offset).unwrap_or_else(|| {
            let mut sites = frames.iter().filter_map(|frame| caller(names, *frame));
            let name = match sites.next() {
                Some(site) => format!("the block allocated at {}", site.label),
                None => format!("a block of {size} bytes"),
            };
            (name.clone(), name)
        });
        return Share {
            owner: Owner::Heap(frames.clone()),
            name,
            part,
            offset,
            declared: None,
            frames: frames.clone(),
            bytes,
        };
    }
    let name = format!("the line at {line:#x}");
    Share {
        owner: Owner::Line(line),
        part: name.clone(),
        name,
        offset: address - line,
        declared: None,
        frames: Vec::new(),
        bytes,
    }
}

impl Group {
    fn new(kind: Kind, line: u64, shares: &[Share]) -> Self {
        let first = &shares[0];
        Self {
            kind,
            names: Vec::new(),
            parts: Vec::new(),
            heap: matches!(first.owner, Owner::Heap(_)),
            offset: first.offset,
            address: line,
            declared: first.declared.clone(),
            frames: first.frames.clone(),
            lines: 0,
            boundaries: 0,
            phases: 0,
            writers: BTreeSet::new(),
            readers: BTreeSet::new(),
            accesses: 0,
            atomics: 0,
            locked: 0,
            regions: BTreeMap::new(),
            instructions: BTreeMap::new(),
            both_wrote: false,
            evidence: Evidence::Writes,
        }
    }

    fn name(&mut self, shares: &[Share]) {
        self.lines += 1;
        for share in shares {
            if !self.names.contains(&share.name) {
                self.names.push(share.name.clone());
            }
            if self.parts.len() <= NAMED_MAX && !self.parts.contains(&share.part) {
                self.parts.push(share.part.clone());
            }
        }
    }

    fn add(&mut self, shares: &[Share], facts: &LineFacts) {
        self.name(shares);
        let phases = facts.false_phases + facts.true_phases;
        self.phases = self.phases.max(phases);
        let boundary = facts.true_phases == 0 && facts.boundary_phases == facts.false_phases;
        self.boundaries += u64::from(boundary);
        self.writers.extend(&facts.writers);
        self.readers.extend(&facts.readers);
        let bytes = shares.iter().fold(0, |all, share| all | share.bytes);
        for word in words(bytes) {
            self.accesses = self.accesses.saturating_add(facts.accesses[word]);
            self.atomics = self.atomics.saturating_add(facts.atomics[word]);
        }
        self.locked = self.locked.saturating_add(facts.locked);
        self.both_wrote |= facts.both_wrote & bytes != 0;
        if facts.writers.len() < 2 {
            self.evidence = Evidence::Reads;
        }
        for (region, known) in &facts.regions {
            let all = self.regions.entry(*region).or_default();
            *all = all.saturating_add(*known);
        }
        for (instruction, times) in &facts.instructions {
            let all = self.instructions.entry(*instruction).or_default();
            *all = all.saturating_add(*times);
        }
    }

    fn add_reads(&mut self, shares: &[Share], facts: &ReadFacts) {
        self.name(shares);
        self.phases = self.phases.max(facts.read_phases);
        self.readers.extend(&facts.readers);
        self.accesses = self.accesses.saturating_add(facts.reads);
        self.evidence = Evidence::Reads;
        for region in &facts.regions {
            *self.regions.entry(*region).or_default() += 1;
        }
        for instruction in &facts.instructions {
            *self.instructions.entry(*instruction).or_default() += 1;
        }
    }

    fn finding(self, names: &impl Names, prices: Prices) -> SharedLine {
        let plain = self.accesses.saturating_sub(self.atomics) as f64;
        let priced = prices.plain_ns.zip(prices.atomic_ns);
        let cost =
            priced.map(|(plain_ns, atomic_ns)| plain * plain_ns + self.atomics as f64 * atomic_ns);
        let readers = self.readers.difference(&self.writers).copied().collect();
        // The object itself may lie in the same line.
        let counting = self.instructions.iter();
        let counting = counting.filter(|(code, _)| names.counts_references(**code));
        let counting: u64 = counting.map(|(_, times)| times).sum();
        let references = self.kind == Kind::True
            && self.atomics > 0
            && self.atomics >= self.accesses / 10 * 9
            && counting > self.instructions.values().sum::<u64>() / 2;
        let (name, parts) = match references {
            true => (mend::REFERENCES.to_owned(), Vec::new()),
            false => (mend::list(&self.names), self.parts),
        };
        let mut line = SharedLine {
            kind: self.kind,
            name,
            parts,
            offset: self.offset,
            lines: self.lines,
            address: self.address,
            declared: self.declared,
            allocation: self
                .frames
                .iter()
                .filter_map(|frame| caller(names, *frame))
                .collect(),
            regions: ranked(self.regions, |region| Some(names.region(region))),
            accesses_at: ranked(self.instructions, |code| names.code(code)),
            phases: self.phases,
            writers: self.writers.into_iter().collect(),
            readers,
            accesses: self.accesses,
            atomics: self.atomics,
            locked: self.locked,
            est_cost_ns: cost.filter(|_| self.kind != Kind::ReadMostly),
            boundary: self.kind == Kind::False && self.boundaries == self.lines,
            handed_on: self.kind == Kind::True && !self.both_wrote,
            evidence: self.evidence,
            sentence: String::new(),
            mend: String::new(),
        };
        line.sentence = mend::sentence(&line);
        line.mend = mend::mend(&line, self.names.len(), self.heap);
        line
    }
}

/// The place of a call that returns to an address.
fn caller(names: &impl Names, returns_to: u64) -> Option<Site> {
    names.code(returns_to.checked_sub(1)?)
}

/// The most frequent first, each place once.
fn ranked<T: Ord + Copy>(counts: BTreeMap<T, u64>, place: impl Fn(T) -> Option<Site>) -> Vec<Site> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut places: Vec<Site> = Vec::new();
    for (one, _) in counts {
        let Some(place) = place(one) else {
            continue;
        };
        if places.len() < NAMED_MAX && places.iter().all(|known| known.label != place.label) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
