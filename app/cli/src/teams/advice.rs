//! Advice for this program, as the runtime reads it.

use crate::program::{Program, Suspicion};
use fathomp_advise::{Advice, AdviceError, ModuleNote, RegionAdvice};
use fathomp_teams::{Advised, Table, TableModule};
use object::Object;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Larger files are no advice.
const BYTES_MAX: u64 = 64 << 20;

/// Why advice cannot be followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnfitAdvice {
    #[error("cannot read the advice {}: {source}: check the path, or make some with `fathomp advise -o FILE`", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: is too large for advice, or no file: make some with `fathomp advise -o FILE`", .0.display())]
    NoFile(PathBuf),
    #[error("{}: {source}", path.display())]
    Nonsense { path: PathBuf, source: AdviceError },
    #[error("{}: is advice for {}, not for {}: {why}; make it anew with `fathomp record` and `fathomp advise -o FILE`", path.display(), of.display(), program.display())]
    Other {
        path: PathBuf,
        of: PathBuf,
        program: PathBuf,
        why: &'static str,
    },
}

impl UnfitAdvice {
    /// Whether it says that a program was built anew since.
    pub(crate) fn is_about(&self, program: &Program) -> bool {
        matches!(self, Self::Other { of, .. } if of.file_name() == program.path.file_name())
    }
}

/// The program that is about to be started.
pub(super) struct For<'a> {
    program: &'a Program,
    build_id: Option<String>,
}

impl<'a> For<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        Self {
            build_id: build_id(&program.path),
            program,
        }
    }

    /// Whether its regions, if any, are in libraries or in other programs that it starts.
    fn is_indirect(&self) -> bool {
        matches!(
            self.program.suspicion,
            Some(Suspicion::Script | Suspicion::NotLinked)
        )
    }
}

/// The build-id of an ELF file in hexadecimal; empty if it has none, none if it is no such
/// file.
fn build_id(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let id = file.build_id().ok()?.unwrap_or_default();
    Some(id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Reads advice and checks that it is for this program. Also what makes it doubtful.
pub(super) fn table(
    path: &Path,
    program: &For<'_>,
) -> Result<(Table, Option<String>), UnfitAdvice> {
    let advice = read(path)?;
    check(path, &advice, program)?;
    let nameless = advice
        .modules
        .iter()
        .any(|module| module.build_id.is_empty());
    let doubt = nameless.then(|| {
        format!(
            "{}: part of the code it is about has no build-id, so that a change since then would not be noticed: link with -Wl,--build-id",
            path.display()
        )
    });
    Ok((to_table(&advice), doubt))
}

fn read(path: &Path) -> Result<Advice, UnfitAdvice> {
    let unreadable = |source| UnfitAdvice::Unreadable {
        path: path.to_owned(),
        source,
    };
    let meta = fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() || meta.len() > BYTES_MAX {
        return Err(UnfitAdvice::NoFile(path.to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    Advice::from_json(&String::from_utf8_lossy(&bytes)).map_err(|source| UnfitAdvice::Nonsense {
        path: path.to_owned(),
        source,
    })
}

/// The runtime takes no advice for a module that has changed. That all of it has, or the
/// program itself, is better said before the program starts.
fn check(path: &Path, advice: &Advice, program: &For<'_>) -> Result<(), UnfitAdvice> {
    let own = program.build_id.as_deref();
    let file = &program.program.path;
    let other = |module: &ModuleNote, why| UnfitAdvice::Other {
        path: path.to_owned(),
        of: PathBuf::from(&module.path),
        program: file.clone(),
        why,
    };
    let is_program = |module: &&ModuleNote| {
        own.is_some_and(|own| {
            own == module.build_id && (!own.is_empty() || is_same(Path::new(&module.path), file))
        })
    };
    if advice.modules.is_empty() || advice.modules.iter().any(|module| is_program(&module)) {
        return Ok(());
    }
    let namesake = advice
        .modules
        .iter()
        .find(|module| Path::new(&module.path).file_name() == file.file_name());
    if let Some(module) = namesake {
        return Err(other(
            module,
            "they have the same name but not the same build-id",
        ));
    }
    let holds =
        |module: &ModuleNote| build_id(Path::new(&module.path)).as_ref() == Some(&module.build_id);
    match advice.modules.first() {
        Some(module)
            if !program.is_indirect()
                && !advice
                    .modules
                    .iter()
                    .any(|module| is_library(module) && holds(module)) =>
        {
            Err(other(module, "it has another build-id"))
        }
        _ => Ok(()),
    }
}

fn is_library(module: &ModuleNote) -> bool {
    let name = Path::new(&module.path).file_name().unwrap_or_default();
    name.to_string_lossy().contains(".so")
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn to_table(advice: &Advice) -> Table {
    let regions = |index: usize| {
        let of_module = |region: &&RegionAdvice| region.module == Some(index);
        let advised = advice
            .regions
            .iter()
            .filter(of_module)
            .filter_map(|region| {
                Some(Advised {
                    address: region.address?,
                    threads: region.advised.threads,
                    steps: steps(region),
                    points: points(region),
                    relative: !region.basis.absolute,
                })
            });
        let mut all: Vec<_> = advised.collect();
        all.sort_by_key(|region| region.address);
        all
    };
    let modules = advice
        .modules
        .iter()
        .enumerate()
        .map(|(index, module)| TableModule {
            build_id: module.build_id.clone(),
            path: fs::canonicalize(&module.path)
                .unwrap_or_else(|_| PathBuf::from(&module.path))
                .to_string_lossy()
                .into_owned(),
            regions: regions(index),
        });
    Table {
        modules: modules.collect(),
    }
}

/// At most as many times as are told apart, from few threads to many; in millionths where
/// they are relative.
fn points(region: &RegionAdvice) -> Vec<(u32, u64)> {
    const POINTS_MAX: usize = 6;
    let unit = if region.basis.absolute { 1.0 } else { 1e6 };
    let all = region.points.iter().map(|point| {
        let ns = (point.time * unit).clamp(0.0, 1e18) as u64;
        (point.threads, ns)
    });
    let every = region.points.len().div_ceil(POINTS_MAX).max(1);
    all.filter(|(threads, _)| *threads > 0)
        .step_by(every)
        .collect()
}

/// Steps by iterations of worksharing loops, which is what the runtime knows; none where
/// that is not how the advice has them.
fn steps(region: &RegionAdvice) -> Vec<(u64, u32)> {
    let steps = region.steps.iter().map(|step| {
        let first = (step.from_trips == 0).then_some(0);
        Some((step.from_iterations.or(first)?, step.threads))
    });
    let steps: Option<Vec<_>> = steps.collect();
    steps
        .filter(|steps| steps.is_sorted_by(|one, next| one.0 < next.0))
        .unwrap_or_default()
}
