//! Measures what OpenMP constructs cost under several runtimes.
//!
//!     overheads --runtime fathomp=/path/libgomp.so.1 --threads 2,8
//!
//! libgomp and, where it is installed, LLVM's libomp are measured beside every
//! runtime named, unless `--alone` is given.
#![forbid(unsafe_code)]

use clap::{Parser, ValueEnum};
use fathomp_bench::overheads::{self, Plan, Policy, Runtime, find_libomp};
use std::io::{IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "overheads",
    about = "What OpenMP constructs cost under several runtimes"
)]
struct Args {
    /// A runtime to measure: NAME=PATH of a library to preload, libgomp or libomp
    #[arg(long = "runtime", value_name = "NAME=PATH", value_parser = Runtime::parse)]
    runtimes: Vec<Runtime>,
    /// Leave out libgomp and libomp unless they are named
    #[arg(long)]
    alone: bool,
    /// The runtime to compare with the best of the others [default: the last one named]
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Threads per team
    #[arg(long, value_delimiter = ',', default_value = "2", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// Wait policies
    #[arg(long, value_delimiter = ',', default_value = "active,passive")]
    policy: Vec<PolicyArg>,
    /// Only these constructs (names as in the table)
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Processes per construct and runtime
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Samples per process
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(3..=1000))]
    samples: u16,
    /// Time that one sample fills, in microseconds
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    target_us: u32,
    /// The C compiler that builds the programs
    #[arg(long, default_value = "gcc")]
    cc: String,
    /// Also write everything to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Exit with 1 unless the subject's geometric mean is at most 1 and no construct is above 1.3
    #[arg(long)]
    check: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum PolicyArg {
    Active,
    Passive,
    Default,
}

impl From<PolicyArg> for Policy {
    fn from(arg: PolicyArg) -> Self {
        match arg {
            PolicyArg::Active => Self::Active,
            PolicyArg::Passive => Self::Passive,
            PolicyArg::Default => Self::Default,
        }
    }
}

fn plan(args: &Args) -> Result<Plan, String> {
    let mut runtimes = Vec::new();
    if !args.alone {
        runtimes.push(Runtime::parse("libgomp")?);
        if find_libomp().is_some() {
            runtimes.push(Runtime::parse("libomp")?);
        }
    }
    runtimes.retain(|r: &Runtime| args.runtimes.iter().all(|named| named.name != r.name));
    runtimes.extend(args.runtimes.iter().cloned());
    if runtimes.is_empty() {
        return Err("name at least one runtime with --runtime NAME=PATH".to_owned());
    }
    for (index, runtime) in runtimes.iter().enumerate() {
        if runtimes[..index]
            .iter()
            .any(|other| other.name == runtime.name)
        {
            return Err(format!(
                "two runtimes are called '{}'; give each its own name",
                runtime.name
            ));
        }
    }
    let subject = match &args.subject {
        Some(name) if runtimes.iter().any(|r| r.name == *name) => Some(name.clone()),
        Some(name) => return Err(format!("--subject {name}: no runtime has that name")),
        None => args.runtimes.last().map(|r| r.name.clone()),
    };
    Ok(Plan {
        compiler: args.cc.clone(),
        runtimes,
        subject,
        threads: args.threads.iter().map(|t| usize::from(*t)).collect(),
        policies: args.policy.iter().map(|p| (*p).into()).collect(),
        only: args.only.clone(),
        rounds: usize::from(args.rounds),
        samples: usize::from(args.samples),
        target_us: f64::from(args.target_us),
        ..Plan::default()
    })
}

/// True if the subject met its goal, or if none was set.
fn run(args: &Args) -> Result<bool, String> {
    let plan = plan(args)?;
    let show = stderr().is_terminal();
    let outcome = overheads::run(&plan, |step| {
        if show {
            let _ = write!(
                stderr(),
                "\r\x1b[K{}/{} {} {}",
                step.done,
                step.total,
                step.construct,
                step.runtime
            );
        }
    })
    .map_err(|e| e.to_string())?;
    if show {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&outcome).map_err(|e| e.to_string())?;
        std::fs::write(path, text)
            .map_err(|e| format!("'{}' could not be written: {e}", path.display()))?;
    }
    // A closed pipe is the reader's wish to see no more.
    let _ = std::io::stdout().write_all(overheads::render(&outcome).as_bytes());
    let met = outcome.comparisons.iter().all(|c| {
        c.verdict.as_ref().is_none_or(|v| {
            v.geometric_mean <= 1.0 && v.above_limit.is_empty() && v.failed.is_empty()
        })
    });
    Ok(met || !args.check)
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("overheads: {message}");
            ExitCode::from(2)
        }
    }
}
