//! The runs of a study over ranks and threads: a launcher such as mpirun starts so many ranks, and
//! each is recorded with so many threads.

use super::Study;
use crate::args::{Study as Plan, ThreadList};
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::launch::{Ended, Launch, Repeatable, Stderr, Stdout};
use crate::load::{self, AllRanks, Target};
use crate::program::Program;
use crate::progress::Progress;
use fathomp_analysis::{Analysis, RankRow, Ranks};
use fathomp_predict::ranks::{Between, RankCell, ThreadModel};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What stands for the number of ranks in the command, and for that of threads.
const RANKS: &str = "{ranks}";
const THREADS: &str = "{threads}";

/// The command of a study over ranks.
pub(crate) struct Template<'a> {
    program: &'a Program,
    myself: PathBuf,
}

impl<'a> Template<'a> {
    /// Looks at the command.
    pub(crate) fn of(program: &'a Program) -> Result<Self, Failure> {
        let usage = |sentence: &str| Failure::new(sentence).with_code(exit::USAGE);
        let mut words = program.command.iter();
        if !words.any(|word| contains(word, RANKS)) {
            return Err(usage(
                "with --ranks the command has to say where their number goes: write {ranks} there, as in -- mpirun -np {ranks} ./program",
            ));
        }
        if program.programs_of_mpi().is_empty() {
            return Err(usage(
                "no program of MPI is seen in the command: name one behind its launcher, as in -- mpirun -np {ranks} ./program",
            ));
        }
        let myself = std::env::current_exe()
            .map_err(|error| Failure::new(format!("cannot find the fathomp program: {error}")))?;
        Ok(Self { program, myself })
    }

    /// The command with so many ranks and threads, each rank recorded into a directory.
    fn with(&self, ranks: u32, threads: u32, directory: &Path) -> Program {
        let put = |word: &OsString| {
            let word = replaced(word, RANKS, ranks);
            replaced(&word, THREADS, threads)
        };
        let mut recorder = vec![self.myself.clone().into_os_string()];
        recorder.extend(["--quiet", "record", "--threads"].map(OsString::from));
        recorder.push(threads.to_string().into());
        recorder.extend(["-o".into(), directory.as_os_str().to_owned(), "--".into()]);
        let program = Program {
            command: self.program.command.iter().map(put).collect(),
            ..self.program.clone()
        };
        program.with_ranks_behind(&recorder)
    }
}

fn contains(word: &OsStr, part: &str) -> bool {
    let (word, part) = (word.as_bytes(), part.as_bytes());
    word.windows(part.len()).any(|here| here == part)
}

fn replaced(word: &OsStr, part: &str, number: u32) -> OsString {
    let mut rest = word.as_bytes();
    let mut put = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        match rest.strip_prefix(part.as_bytes()) {
            Some(behind) => {
                put.extend_from_slice(number.to_string().as_bytes());
                rest = behind;
            }
            None => {
                put.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    OsString::from_vec(put)
}

/// Numbers of ranks and threads that are run, and that are predicted.
pub(crate) struct Grid {
    pub(crate) measured: Vec<(u32, u32)>,
    pub(crate) wanted: Vec<(u32, u32)>,
}

impl Grid {
    /// All pairs of the lists run that have no more threads than this machine has processors. With
    /// `cores`, powers of two up to that are predicted as well.
    pub(crate) fn of(plan: &Plan, ranks: &ThreadList, processors: u32) -> Result<Self, Failure> {
        let doubling = ThreadList::doubling(processors);
        let threads = plan.threads.as_ref().unwrap_or(&doubling);
        let cores = plan.cores.map(|cores| cores.0);
        let more = cores.map_or_else(Vec::new, |cores| ThreadList::doubling(cores).0);
        let with_more = |list: &ThreadList| {
            let mut all: Vec<u32> = list.0.iter().chain(&more).copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let mut measured = Vec::new();
        let mut wanted = Vec::new();
        for &count in &with_more(ranks) {
            for &each in &with_more(threads) {
                let all = count.saturating_mul(each);
                let is_listed = ranks.0.contains(&count) && threads.0.contains(&each);
                if is_listed && all <= processors {
                    measured.push((count, each));
                }
                if is_listed || cores.is_some_and(|cores| all <= cores) {
                    wanted.push((count, each));
                }
            }
        }
        if measured.is_empty() {
            return Err(Failure::new(format!(
                "none of these numbers of ranks and threads fits {}: name smaller ones with --ranks and --threads",
                fathomp_types::units::plural(processors.into(), "processor")
            ))
            .with_code(exit::USAGE));
        }
        Ok(Self { measured, wanted })
    }
}

/// What the runs gave.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) cells: Vec<RankCell>,
    /// Of each number of ranks, recordings of the rank that is outside of MPI longest.
    pub(crate) longest: BTreeMap<u32, Longest>,
    /// The ranks of the last run with each pair of numbers.
    pub(crate) ranks: BTreeMap<(u32, u32), Ranks>,
    pub(crate) notes: Vec<String>,
    pub(crate) failed: Option<u8>,
}

/// Recordings of one rank.
#[derive(Default)]
pub(crate) struct Longest {
    pub(crate) rank: u32,
    pub(crate) analyses: Vec<Analysis>,
    pub(crate) recordings: Vec<PathBuf>,
}

/// Makes the runs.
pub(crate) struct RankRuns<'a> {
    pub(crate) template: &'a Template<'a>,
    pub(crate) console: Console,
    pub(crate) progress: &'a Progress,
    pub(crate) stdin: Repeatable,
}

impl RankRuns<'_> {
    /// All pairs, each so often, every pair before the first repetition.
    pub(crate) fn all(
        &self,
        study: &Study,
        pairs: &[(u32, u32)],
        repeats: u32,
    ) -> Result<Measured, Failure> {
        let mut measured = Measured::default();
        let mut done = 0;
        for repeat in 0..repeats {
            for &(ranks, threads) in pairs {
                done += 1;
                let counted = counted(ranks, threads);
                self.progress.at(done, format!("running {counted}"));
                let mut name = format!("recordings/{ranks}-ranks-of-{threads}-threads");
                if repeats > 1 {
                    name.push_str(&format!("-run-{}", repeat + 1));
                }
                let directory = study.path(&name);
                let ended = self.one(ranks, threads, &directory, done == 1)?;
                if let Some(signal) = ended.interrupted {
                    measured.notes.push(format!(
                        "The study was interrupted by signal {signal} in the run of {counted}."
                    ));
                    measured.failed.get_or_insert(ended.exit_code());
                    return Ok(measured);
                }
                if ended.exit_code() != 0 {
                    measured.failed.get_or_insert(ended.exit_code());
                    measured.notes.push(format!(
                        "The run of {counted} ended with {}; its time is not used.",
                        ended.describe()
                    ));
                    continue;
                }
                match load::ranks_or_one(&directory)? {
                    Some(all) => measured.add((ranks, threads), &all)?,
                    None => measured.notes.push(format!(
                        "Nothing was recorded of {counted}: see that the launcher starts what follows its own options."
                    )),
                }
            }
        }
        Ok(measured)
    }

    fn one(&self, ranks: u32, threads: u32, to: &Path, first: bool) -> Result<Ended, Failure> {
        let program = self.template.with(ranks, threads, to);
        let launch = Launch {
            program: &program,
            interposer: None,
            library: None,
            plan: fathomp_launch::Plan::default(),
            stdin: self.stdin.for_run(first),
            stdout: match (first, self.console.quiet) {
                (true, false) => Stdout::for_voice(self.console),
                _ => Stdout::Discard,
            },
            stderr: match first {
                true => Stderr::Inherit,
                false => Stderr::File(to.with_extension("stderr")),
            },
        };
        let run = || {
            let running = launch.start().map_err(|error| Failure::of(&error))?;
            running.wait(None).map_err(|error| Failure::of(&error))
        };
        match first {
            // The program has the terminal to itself.
            true => self.progress.aside(run),
            false => run(),
        }
    }
}

impl Measured {
    fn add(&mut self, (ranks, threads): (u32, u32), all: &AllRanks) -> Result<(), Failure> {
        let together = &all.together;
        let outside = |row: &RankRow| row.wall_ns.saturating_sub(row.mpi_ns);
        let rows = &together.ranks;
        let count = (rows.len() as f64).max(1.0);
        let in_regions = |row: &RankRow| row.regions_ns.min(outside(row));
        let mean = |of: &dyn Fn(&RankRow) -> u64| {
            rows.iter().map(|row| of(row) as f64).sum::<f64>() / count
        };
        if rows.len() as u64 != u64::from(ranks) {
            self.notes.push(format!(
                "Of {} there are recordings of {}; their time is not used.",
                counted(ranks, threads),
                fathomp_types::units::plural(rows.len() as u64, "rank")
            ));
            return Ok(());
        }
        self.cells.push(RankCell {
            ranks,
            threads,
            wall_ns: together.wall_ns as f64,
            serial_ns: mean(&|row| outside(row) - in_regions(row)),
            regions_ns: mean(&in_regions),
            most_ns: rows.iter().map(outside).max().unwrap_or(0) as f64,
        });
        let longest = rows
            .iter()
            .max_by_key(|row| outside(row))
            .map_or(0, |row| row.rank);
        let kept = self.longest.entry(ranks).or_insert_with(|| Longest {
            rank: longest,
            ..Longest::default()
        });
        let directory = all.directories.iter().find(|one| one.0 == kept.rank);
        if let Some((_, directory)) = directory {
            kept.analyses.push(load::open(directory, None)?.analysis);
            kept.recordings.push(directory.clone());
        }
        self.ranks.insert((ranks, threads), together.clone());
        Ok(())
    }
}

/// "2 ranks with 1 thread each".
pub(crate) fn counted(ranks: u32, threads: u32) -> String {
    let count = fathomp_types::units::plural;
    format!(
        "{} with {} each",
        count(ranks.into(), "rank"),
        count(threads.into(), "thread")
    )
}

/// Times by numbers of threads.
type Times = BTreeMap<u32, Between>;

/// What our model of threads says of the longest rank, asked once for each number of ranks.
pub(crate) struct OfThreads<'a> {
    longest: &'a BTreeMap<u32, Longest>,
    /// Numbers of threads that are asked for.
    threads: Vec<u32>,
    /// By ranks and the number of threads that is left out.
    known: RefCell<BTreeMap<(u32, Option<u32>), Times>>,
}

impl<'a> OfThreads<'a> {
    pub(crate) fn new(longest: &'a BTreeMap<u32, Longest>, wanted: &[(u32, u32)]) -> Self {
        let mut threads: Vec<u32> = wanted.iter().map(|one| one.1).collect();
        threads.sort_unstable();
        threads.dedup();
        Self {
            longest,
            threads,
            known: RefCell::default(),
        }
    }

    fn times(&self, ranks: u32, without: Option<u32>) -> Times {
        let all = self
            .longest
            .get(&ranks)
            .map_or(&[][..], |one| &one.analyses);
        let used = all.iter().filter(|one| Some(one.threads) != without);
        let analyses: Vec<Analysis> = used.cloned().collect();
        let target = Target {
            machine: None,
            cores: self
                .threads
                .last()
                .map(|most| crate::args::ThreadCount(*most)),
        };
        let predicted = load::predict(&analyses, &target, self.threads.clone());
        let Ok(predicted) = predicted else {
            return Times::new();
        };
        let points = predicted.threads().into_iter().flat_map(|one| &one.points);
        let between = points.map(|point| {
            let time = Between {
                ns: point.time_ns,
                low_ns: point.low_ns,
                high_ns: point.high_ns,
            };
            (point.threads, time)
        });
        between.collect()
    }
}

impl ThreadModel for OfThreads<'_> {
    fn time(&self, ranks: u32, threads: u32, without: Option<u32>) -> Option<Between> {
        let mut known = self.known.borrow_mut();
        let times = known
            .entry((ranks, without))
            .or_insert_with(|| self.times(ranks, without));
        times.get(&threads).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_wherever_the_command_names_them() {
        let put = |word: &str| replaced(OsStr::new(word), RANKS, 12);
        assert_eq!(put("-np={ranks}"), "-np=12");
        assert_eq!(put("{ranks}x{ranks}"), "12x12");
        assert_eq!(put("{rank}"), "{rank}");
    }
}
