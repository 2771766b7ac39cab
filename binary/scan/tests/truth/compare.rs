//! How often loops run, as scans say it and as callgrind counts it.

use super::estimate::{Estimate, estimate};
use fathomp_callgrind::{Beginnings, Counts, begun, callgrind};
use fathomp_cfg::{BlockId, Flow, Image};
use fathomp_regions::{Body, LoopId};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(900);

/// A loop of a region.
#[derive(Clone, Debug)]
pub(crate) struct JudgedLoop {
    /// Where it begins.
    pub(crate) header: u64,
    /// Iterations in all executions of the region; none if they are not known.
    pub(crate) said: Option<f64>,
    /// Those that were counted.
    pub(crate) counted: f64,
    /// Instructions of an iteration, without those of loops inside.
    pub(crate) instructions: f64,
    /// Why they are not known.
    pub(crate) reason: String,
}

impl JudgedLoop {
    pub(crate) fn right(&self) -> bool {
        let said = self.said.unwrap_or(0.0);
        // Of a loop that hardly runs, one iteration more is no error.
        (said - self.counted).abs() <= (0.1 * self.counted).max(2.0)
    }
}

/// A region that was executed.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) symbol: String,
    pub(crate) address: u64,
    pub(crate) times: u64,
    pub(crate) loops: Vec<JudgedLoop>,
    /// Instructions of its own code, without what it calls, as its loops say and as counted.
    pub(crate) own: (f64, f64),
}

impl Judged {
    /// Instructions in its loops, as said and as counted.
    pub(crate) fn work(&self) -> (f64, f64) {
        let said = |l: &JudgedLoop| l.said.unwrap_or(0.0) * l.instructions;
        let counted = |l: &JudgedLoop| l.counted * l.instructions;
        (
            self.loops.iter().map(said).sum(),
            self.loops.iter().map(counted).sum(),
        )
    }

    /// Whether the work in its loops is said within a tenth.
    pub(crate) fn right(&self) -> bool {
        let (said, counted) = self.work();
        (said - counted).abs() <= 0.1 * counted
    }

    /// The share of its work that is in loops of which it is said right how often they run.
    pub(crate) fn right_share(&self) -> f64 {
        let weight = |l: &&JudgedLoop| l.counted * l.instructions;
        let right: f64 = self
            .loops
            .iter()
            .filter(|l| l.right())
            .map(|l| weight(&l))
            .sum();
        right / self.work().1.max(1.0)
    }
}

/// Judges all regions of a program (its words) that do something in loops.
pub(crate) fn judge(words: &[String]) -> Vec<Judged> {
    let program = Path::new(&words[0]);
    let scanned = fathomp_scan::scan(program).expect("a scan");
    let image = Image::read(program).expect("an image");
    let beginnings = begun(words, &[], LIMIT).expect("a run");
    let environment = [("OMP_NUM_THREADS", "1")];
    let (profile, _) = callgrind(words, &environment, None, LIMIT).expect("a profile");
    let counts = profile.of_file(program).expect("the program's counts");
    let truth = Truth {
        image: &image,
        counts,
        flows: BTreeMap::new(),
    };
    truth.judge(
        scanned.regions.iter().filter_map(|r| r.body.as_ref()),
        &beginnings,
    )
}

struct Truth<'a> {
    image: &'a Image,
    counts: &'a BTreeMap<u64, Counts>,
    /// By the function's address.
    flows: BTreeMap<u64, Flow>,
}

impl Truth<'_> {
    fn judge<'b>(
        mut self,
        bodies: impl Iterator<Item = &'b Body>,
        beginnings: &Beginnings,
    ) -> Vec<Judged> {
        let all: Vec<(&Body, u64, Estimate)> = bodies
            .filter_map(|body| {
                let times = *beginnings.times.get(&body.address)?;
                let executed = !body.loops.is_empty() && times > 0;
                executed.then(|| (body, times, estimate(body, times, beginnings)))
            })
            .collect();
        // Loops of functions that several regions call, or one several times.
        let mut said: BTreeMap<u64, Vec<Option<f64>>> = BTreeMap::new();
        for (body, _, estimate) in &all {
            for (looped, count) in body.loops.iter().zip(&estimate.iterations) {
                said.entry(looped.header).or_default().push(*count);
            }
        }
        all.into_iter()
            .map(|(body, times, estimate)| {
                let loops = (0..).zip(&body.loops).map(|(number, looped)| {
                    let own = estimate.iterations[number as usize];
                    let others = &said[&looped.header];
                    let sum: f64 = others.iter().flatten().sum();
                    let share = match own {
                        _ if others.len() == 1 => 1.0,
                        Some(own) if sum > 0.0 => own / sum,
                        _ => 1.0 / others.len() as f64,
                    };
                    let per_iteration = body
                        .instructions
                        .iter()
                        .filter(|(inside, _)| *inside == Some(LoopId(number)))
                        .map(|(_, count)| f64::from(*count));
                    JudgedLoop {
                        header: looped.header,
                        said: own,
                        counted: self.iterations(looped.header) * share,
                        instructions: per_iteration.sum(),
                        reason: estimate.reasons[number as usize].clone(),
                    }
                });
                let loops: Vec<JudgedLoop> = loops.collect();
                let own = self.own(body, times, &estimate);
                Judged {
                    symbol: body.symbol.clone().unwrap_or_default(),
                    address: body.address,
                    times,
                    loops,
                    own,
                }
            })
            .filter(|judged| judged.work().1 > 0.0)
            .collect()
    }

    fn executed(&self, address: u64) -> f64 {
        self.counts.get(&address).map_or(0.0, |c| c.executed as f64)
    }

    fn flow(&mut self, address: u64) -> Option<&Flow> {
        let id = self.image.function_at(address)?;
        let start = self.image.function(id).range.start;
        if let std::collections::btree_map::Entry::Vacant(entry) = self.flows.entry(start) {
            entry.insert(Flow::of(self.image, id).ok()?);
        }
        self.flows.get(&start)
    }

    /// How often the loop at an address went round: a loop that is left at its beginning came
    /// there once more.
    fn iterations(&mut self, header: u64) -> f64 {
        let inside = self.flow(header).and_then(|flow| {
            let block = flow.block_at(header)?;
            let cycle = flow.cycles.iter().find(|cycle| cycle.header == block)?;
            let leaves = cycle.exits.iter().any(|(from, _)| *from == block);
            let inside: Vec<&BlockId> = flow
                .block(block)
                .successors
                .iter()
                .filter(|to| cycle.contains(**to) && **to != block)
                .collect();
            let [only] = inside[..] else {
                return None;
            };
            let alone = flow.block(*only).predecessors == [block];
            (leaves && alone && !cycle.latches.contains(&block)).then(|| flow.block(*only).start)
        });
        self.executed(inside.unwrap_or(header))
    }

    /// Instructions of the region's own code: those that its loops say, and those counted.
    fn own(&mut self, body: &Body, times: u64, estimate: &Estimate) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        let counts = self.counts;
        let Some(flow) = self.flow(body.address) else {
            return sums;
        };
        for id in flow.ids().filter(|id| flow.block(*id).reachable) {
            let code = flow.code(id);
            let executed = |at: u64| counts.get(&at).map_or(0.0, |c| c.executed as f64);
            sums.1 += code.iter().map(|i| executed(i.ip())).sum::<f64>();
            let mut at = flow.cycle_of(id);
            // Loops that the scan has not are part of what is around them.
            let count = loop {
                let Some(cycle) = at.map(|at| flow.cycle(at)) else {
                    break times as f64;
                };
                let header = flow.block(cycle.header).start;
                match body.loops.iter().position(|l| l.header == header) {
                    Some(number) => break estimate.iterations[number].unwrap_or(0.0),
                    None => at = cycle.parent,
                }
            };
            sums.0 += count * code.len() as f64;
        }
        sums
    }
}
