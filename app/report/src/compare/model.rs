//! What a comparison says, as data.

use crate::side_by_side::Row;
use fathomp_analysis::{Analysis, Region};
use fathomp_diagnosis::{Cause, Kind};
use fathomp_regions::Module;
use serde::Serialize;

/// What the user named: the runs of one program before or after a change.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// Its recordings, in any order.
    pub analyses: Vec<Analysis>,
    /// Runs of several ranks, of which the time as a whole is compared.
    pub ranks: Vec<RanksRun>,
    /// The program's files, as they were scanned before they ran; empty if they were not.
    pub modules: Vec<Module>,
    /// A hash of the program's standard input; none if the study kept no input.
    pub input: Option<u64>,
    /// Cache lines that threads share were looked for.
    pub sharing: bool,
    /// Where threads were was looked at.
    pub samples: bool,
}

/// A run of several ranks.
#[derive(Clone, Debug)]
pub struct RanksRun {
    /// With how many.
    pub setting: Setting,
    /// Its time.
    pub wall_ns: u64,
}

/// With what a program ran. Only runs with the same are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Setting {
    /// Threads of each rank, or of all nodes together.
    pub threads: u32,
    /// Nodes; 1 for threads that share memory by themselves.
    pub nodes: u32,
    /// Ranks of MPI; 0 for a program without.
    pub ranks: u32,
}

/// How times of a region, or of the program, differ from the first side's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It certainly takes less time, and that matters to the program.
    Faster,
    /// It certainly takes more time, and that matters to the program.
    Slower,
    /// No difference can be seen.
    Same,
    /// There is a difference, which is less than a hundredth of the program's time.
    Little,
    /// One run on each side: whether there is a difference cannot be told.
    SingleRuns,
    /// It was executed here and not on the first side.
    New,
    /// It was executed on the first side and not here.
    Gone,
}

/// How a region of one build was recognised in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The build is the same.
    SameCode,
    /// In its function it has the same lines, counted from its directive, and stands in the same
    /// order.
    Place,
    /// It is the only region of its function.
    OnlyOne,
    /// It stands in its function in the same order, between the same regions, and is executed as
    /// often.
    Order,
    /// Several regions of a function that cannot be told apart are counted together.
    Together,
}

/// A region, or the program, on all sides.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Times and ratios.
    #[serde(flatten)]
    pub row: Row,
    /// Names on each side, where it was executed.
    pub names: Vec<Vec<String>>,
    /// By side, how it was recognised; none for the first that has it.
    pub matched: Vec<Option<How>>,
    /// By side; none for the first.
    pub verdicts: Vec<Option<Verdict>>,
    /// By side, how much longer it takes than on the first; negative for less. A region that is
    /// new or gone has its whole time.
    pub longer_ns: Vec<Option<f64>>,
}

/// Times of the same setting.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Which.
    #[serde(flatten)]
    pub setting: Setting,
    /// The whole program.
    pub program: Judged,
    /// Its regions, those first whose times differ most.
    pub regions: Vec<Judged>,
    /// By side: runs that are compared,
    pub runs: Vec<usize>,
    /// and those left out because other programs disturbed them, or because they failed.
    pub left_out: Vec<usize>,
    /// Of single runs: a ratio that is nearer to 1 than this cannot be told from chance, and why.
    pub noise: Option<Noise>,
}

/// What single runs cannot tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// As a fraction of the time.
    pub share: f64,
    /// Where that is from: a clause.
    pub because: String,
}

/// What became of a cause of lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It costs more than it did.
    More,
    /// It was not there before.
    New,
    /// It costs less.
    Less,
    /// It is no longer there.
    Gone,
    /// Runs of a side differ as much as the sides do.
    Unclear,
    /// It costs about the same.
    Same,
}

/// A cause of lost time on all sides.
#[derive(Clone, Debug, Serialize)]
pub struct CauseRow {
    /// The cause.
    pub kind: Kind,
    /// The same in words.
    pub title: String,
    /// Where it is.
    pub place: String,
    /// By side: what it costs as a fraction of the program's time, median over runs in peace, 0
    /// where it was not found; none where no causes were looked for, or other programs may have
    /// hidden it.
    pub shares: Vec<Option<f64>>,
    /// By side: the least and the most that single runs say, which are all in peace.
    pub ranges: Vec<Option<(f64, f64)>>,
    /// By side, against the first.
    pub changes: Vec<Option<Change>>,
}

/// A fact that is not the same on all sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactRow {
    /// Its name, for users.
    pub name: String,
    /// By side; none where it is not known.
    pub values: Vec<Option<String>>,
    /// Why it is not known somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// The result of comparing two or more sides.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// As the user named them; the others are compared with the first.
    pub sides: Vec<String>,
    /// What became of the program's time, one sentence for each side but the first.
    pub summary: Vec<String>,
    /// What makes the comparison doubtful, each as one sentence.
    pub doubts: Vec<String>,
    /// By setting; what causes are about comes first.
    pub tables: Vec<Table>,
    /// Why the program does not run faster, with the setting of the first table.
    pub causes: Vec<CauseRow>,
    /// Whether a cause that is not listed is on no side.
    pub causes_known: bool,
    /// What differs in program, machine and environment.
    pub facts: Vec<FactRow>,
}

/// What the report says of a side: its causes, or why there are none.
#[derive(Clone, Debug, Default)]
pub struct Concluded {
    /// Most expensive first.
    pub causes: Vec<Cause>,
    /// The same of each run by itself, as far as none was disturbed.
    pub run_by_run: Vec<Vec<Cause>>,
    /// Why nothing is concluded.
    pub broken: Option<String>,
}

impl Setting {
    /// With what a recording was made.
    #[must_use]
    pub fn of(analysis: &Analysis) -> Self {
        let program = &analysis.program;
        Self {
            threads: program.threads_asked.unwrap_or(analysis.team_size),
            nodes: program.nodes.max(1),
            ranks: 0,
        }
    }
}

impl Side {
    /// The build of the module that a region lies in.
    pub(super) fn build_of(&self, region: &Region) -> Option<&str> {
        let path = &region.place.module;
        let mut modules = self.modules.iter();
        let found = modules.find(|module| module.path == *path)?;
        Some(&found.build_id)
    }
}
