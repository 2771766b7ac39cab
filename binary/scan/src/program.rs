//! A whole program: its bodies, and the regions that start them.

use crate::body::Assembly;
use crate::entries;
use crate::names::{Located, Names};
use crate::places::Places;
use crate::starts::{self, Found};
use crate::walk::Walk;
use fathomp_cfg::{Effects, Flow, FunctionId, Image, ImageError};
use fathomp_regions::{
    Body, BodyKind, Coverage, Expr, Leaf, Module, Region, Regions, ScheduleKind, Start,
};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Larger files are not read.
const BYTES_MAX: u64 = 4 << 30;

/// Why a file was not scanned.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// It cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is larger than any program.
    #[error("{path} is larger than 4 GiB, which no program is", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is no program that can be scanned.
    #[error("{path} {error}", path = path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ImageError,
    },
}

/// Scans a program or library.
///
/// # Errors
/// See [`ScanError`]. A program without OpenMP is no error: the answer says so.
pub fn scan(path: &Path) -> Result<Regions, ScanError> {
    scan_bytes(path, read(path)?)
}

fn read(path: &Path) -> Result<Vec<u8>, ScanError> {
    let failed = |error| ScanError::Read {
        path: path.to_owned(),
        error,
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > BYTES_MAX {
        return Err(ScanError::TooLarge {
            path: path.to_owned(),
        });
    }
    std::fs::read(path).map_err(failed)
}

/// Scans the bytes of a program or library; `path` is what it is called.
///
/// # Errors
/// See [`ScanError`].
pub fn scan_bytes(path: &Path, data: impl Into<Arc<[u8]>>) -> Result<Regions, ScanError> {
    let image = Image::parse(data).map_err(|error| ScanError::Image {
        path: path.to_owned(),
        error,
    })?;
    Ok(image_regions(path, &image, None))
}

/// Scans of a program or library only the bodies at the addresses in `wanted`, or that calls
/// returning there start: what a large library holds beyond what was executed takes minutes.
///
/// # Errors
/// See [`ScanError`].
pub fn scan_only(path: &Path, wanted: &BTreeSet<u64>) -> Result<Regions, ScanError> {
    let image = Image::parse(read(path)?).map_err(|error| ScanError::Image {
        path: path.to_owned(),
        error,
    })?;
    Ok(image_regions(path, &image, Some(wanted)))
}

/// [`scan`], unless more than `most` calls begin regions or share work: then their number.
///
/// # Errors
/// See [`ScanError`].
pub fn scan_up_to(path: &Path, most: usize) -> Result<Result<Regions, usize>, ScanError> {
    let image = Image::parse(read(path)?).map_err(|error| ScanError::Image {
        path: path.to_owned(),
        error,
    })?;
    let users = image.users(|name| entries::starter(name).is_some());
    Ok(match users.len() {
        many if many > most => Err(many),
        _ => Ok(image_regions(path, &image, None)),
    })
}

fn image_regions(path: &Path, image: &Image, wanted: Option<&BTreeSet<u64>>) -> Regions {
    let sections: Vec<Range<u64>> = image
        .sections()
        .iter()
        .filter(|section| !section.thread)
        .map(|section| section.range.clone())
        .collect();
    let mut problems = Vec::new();
    let mut program = Program {
        image,
        sections: &sections,
        found: Vec::new(),
        sharing: BTreeSet::new(),
        instructions: 0,
    };
    program.search(&mut problems, path);
    if let Some(wanted) = wanted {
        program.keep(wanted);
    }
    let effects = program.effects();
    let names = Names::read(image.data(), &|address| {
        let function = image.function_from(address);
        function.is_some_and(|id| effects.flow(id).is_some())
    });
    let places = Mutex::new(Places::read(image.data()));
    let mut scanned = program.bodies(&effects, &names, &places);
    let mut coverage = Coverage::default();
    for found in &program.found {
        coverage.bodies.count(!found.bodies.is_empty(), 1.0);
        if found.bodies.is_empty() {
            problems.push(format!(
                "what the call of {} at {:#x} starts is not known: \
                 the function is chosen when the program runs",
                found.start.entry, found.start.at
            ));
        }
    }
    scanned.sort_by_key(|(body, _)| body.address);
    let mut places = places.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut bodies = Vec::new();
    for (mut body, located) in scanned {
        places.fill(&mut body);
        names.fill(&mut body, &located);
        crate::roles::assign(&mut body);
        bodies.push(body);
    }
    let mut unknown: BTreeMap<_, u64> = BTreeMap::new();
    for body in &bodies {
        coverage
            .innermost_accesses
            .add(&body.coverage.innermost_accesses);
        coverage.outer_accesses.add(&body.coverage.outer_accesses);
        coverage.trips.add(&body.coverage.trips);
        for (kind, count) in &body.coverage.unknown {
            *unknown.entry(*kind).or_default() += count;
        }
    }
    coverage.unknown = unknown.into_iter().collect();
    coverage
        .unknown
        .sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
    let module = Module {
        path: path.to_string_lossy().into_owned(),
        build_id: hexadecimal(image.build_id()),
        stripped: image.is_stripped(),
        has_lines: places.are_known(),
        instructions: program.instructions,
        compilers: crate::compilers::of(image.data()),
        coverage,
    };
    let regions = bodies.into_iter().map(|body| Region {
        place: body.starts.first().and_then(|start| start.place.clone()),
        function: body.starts.first().and_then(|start| start.function.clone()),
        module: Some(0),
        body: Some(body),
        ..Region::default()
    });
    Regions {
        modules: vec![module],
        regions: regions.collect(),
        problems,
        ..Regions::default()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Program<'a> {
    image: &'a Image,
    sections: &'a [Range<u64>],
    found: Vec<Found>,
    /// Functions that share work, or ask for their thread's number.
    sharing: BTreeSet<FunctionId>,
    instructions: u64,
}

/// What runs for one or several starts.
struct Plan {
    address: u64,
    function: FunctionId,
    kind: BodyKind,
    starts: Vec<Start>,
}

impl Program<'_> {
    /// Looks for calls of the OpenMP interface.
    fn search(&mut self, problems: &mut Vec<String>, path: &Path) {
        let is_interesting = |name: &str| {
            entries::starter(name).is_some() || entries::is_sharing(name) || is_thread_query(name)
        };
        let users = self.image.users(is_interesting);
        let looked: Vec<(FunctionId, Vec<Found>, bool, u64)> = users
            .into_par_iter()
            .filter(|id| !self.image.name(*id).is_some_and(is_runtime))
            .filter_map(|id| {
                let flow = Flow::of(self.image, id).ok()?;
                let fixed = !self.image.is_position_independent();
                let found = starts::find(self.image, &flow, fixed, self.sections);
                let shares = shares(self.image, &flow);
                Some((id, found, shares, flow.instructions.len() as u64))
            })
            .collect();
        for (id, found, shares, instructions) in looked {
            self.found.extend(found);
            self.instructions += instructions;
            if shares {
                self.sharing.insert(id);
            }
        }
        if self.found.is_empty() && self.sharing.is_empty() {
            problems.push(format!(
                "{} contains no OpenMP: nothing in it starts a parallel region or shares work; \
                 compile it with `-fopenmp`, or give the library that does",
                path.display()
            ));
        }
    }

    /// Leaves only what is at these addresses, or started by calls that return there.
    fn keep(&mut self, wanted: &BTreeSet<u64>) {
        self.sharing.clear();
        self.found.retain_mut(|found| {
            if !wanted.contains(&found.start.returns_to) {
                found.bodies.retain(|body| wanted.contains(body));
            }
            !found.bodies.is_empty()
        });
    }

    fn plans(&self) -> Vec<Plan> {
        let mut plans: BTreeMap<u64, Plan> = BTreeMap::new();
        for found in &self.found {
            for address in &found.bodies {
                let Some(function) = self.image.function_from(*address) else {
                    continue;
                };
                let plan = plans.entry(*address).or_insert_with(|| Plan {
                    address: *address,
                    function,
                    kind: found.starter.kind,
                    starts: Vec::new(),
                });
                plan.starts.push(found.start.clone());
            }
        }
        plans.into_values().collect()
    }

    /// The graphs of all functions that may take part, and what calls of them leave.
    fn effects(&self) -> Effects {
        let bodies = self.plans().into_iter().map(|plan| plan.function);
        Effects::of(self.image, bodies.chain(self.sharing.iter().copied()))
    }

    fn bodies(
        &mut self,
        effects: &Effects,
        names: &Names,
        places: &Mutex<Places>,
    ) -> Vec<(Body, Located)> {
        let plans = self.plans();
        let started: BTreeSet<FunctionId> = plans.iter().map(|plan| plan.function).collect();
        let looked: u64 = effects
            .functions()
            .filter_map(|id| effects.flow(id))
            .map(|flow| flow.instructions.len() as u64)
            .sum();
        self.instructions += looked;
        let run = |plan: Plan| self.body(effects, names, places, plan);
        let (mut bodies, followed): (Vec<(Body, Located)>, Vec<BTreeSet<FunctionId>>) =
            plans.into_par_iter().map(run).unzip();
        let followed: BTreeSet<FunctionId> = followed.into_iter().flatten().collect();
        let orphans: Vec<Plan> = self
            .sharing
            .iter()
            .filter(|id| !started.contains(id) && !followed.contains(id))
            .map(|id| Plan {
                address: self.image.function(*id).range.start,
                function: *id,
                kind: BodyKind::Orphaned,
                starts: Vec::new(),
            })
            .collect();
        let orphans: Vec<(Body, Located)> =
            orphans.into_par_iter().map(|plan| run(plan).0).collect();
        bodies.extend(orphans);
        bodies
    }

    fn body(
        &self,
        effects: &Effects,
        names: &Names,
        places: &Mutex<Places>,
        plan: Plan,
    ) -> ((Body, Located), BTreeSet<FunctionId>) {
        let Some(flow) = effects.flow(plan.function).cloned() else {
            let body = Body {
                address: plan.address,
                kind: plan.kind,
                starts: plan.starts,
                ..Body::default()
            };
            return ((body, Located::new()), BTreeSet::new());
        };
        let mut walk = Walk::new(self.image, effects, self.sections, &names.watches);
        let is_llvms = plan
            .starts
            .iter()
            .any(|start| entries::llvm::is_entry(&start.entry));
        let argument = match plan.kind {
            BodyKind::Orphaned => Leaf::Argument(1),
            _ if is_llvms => Leaf::Argument(1),
            _ => Leaf::Data,
        };
        let argument = walk.values.leaf(argument);
        walk.body(plan.function, &flow, argument);
        let followed = walk.frames.iter().map(|frame| frame.function).collect();
        let mut assembly = Assembly::new(&mut walk);
        let mut body = assembly.body(places);
        let located = assembly.variables(&names.watches);
        body.kind = plan.kind;
        body.starts = plan.starts;
        share_iterations(&mut body);
        ((body, located), followed)
    }
}

/// The loop that the calls of a body begin themselves has the iterations that all of them say.
fn share_iterations(body: &mut Body) {
    let mut said = body.starts.iter().map(|start| start.iterations);
    let Some(Some(first)) = said.next() else {
        return;
    };
    if body.kind != BodyKind::ParallelLoop || said.any(|other| other != Some(first)) {
        return;
    }
    for schedule in body
        .loops
        .iter_mut()
        .filter_map(|one| one.worksharing.as_mut())
    {
        if schedule.kind != ScheduleKind::Static && schedule.total.is_none() {
            schedule.total = Some(Expr::Const(first));
        }
    }
}

fn is_thread_query(name: &str) -> bool {
    matches!(
        name,
        "omp_get_thread_num"
            | "omp_get_num_threads"
            | "omp_get_thread_num_"
            | "omp_get_num_threads_"
    )
}

/// Whether a function is the OpenMP runtime's own, linked into the program.
fn is_runtime(name: &str) -> bool {
    [
        "GOMP_", "gomp_", "omp_", "GOACC_", "goacc_", "acc_", "ialias_", "__kmp",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// Whether a function shares work between threads: by chunks, or by its thread's number, in loops.
fn shares(image: &Image, flow: &Flow) -> bool {
    let (mut number, mut threads) = (false, false);
    for instruction in flow.instructions.iter().filter(|i| fathomp_cfg::is_call(i)) {
        let name = match image.target(instruction) {
            Some(fathomp_cfg::Target::Import(name)) => name.to_string(),
            Some(fathomp_cfg::Target::Local(address)) => {
                let id = image.function_from(address);
                id.and_then(|id| image.name(id))
                    .unwrap_or_default()
                    .to_owned()
            }
            _ => continue,
        };
        if entries::worksharing(&name).is_some()
            || entries::llvm::loop_call(entries::base(&name)).is_some()
        {
            return true;
        }
        number |= name.starts_with("omp_get_thread_num");
        threads |= name.starts_with("omp_get_num_threads");
    }
    number && threads && !flow.cycles.is_empty()
}
