//! Options of `fathomp share`.

use super::ThreadCount;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// What stands between programs, unless the user says otherwise.
const SEPARATOR: &str = "--";

/// `fathomp share`.
#[derive(Args, Debug)]
pub(crate) struct Share {
    /// How the machine is divided.
    #[arg(long, value_enum, default_value_t = Strategy::Hints)]
    pub(crate) strategy: Strategy,
    /// Run the programs under every strategy and each of them alone, in turns, and compare
    /// what got done.
    #[arg(long, conflicts_with_all = ["strategy", "output", "mix"])]
    pub(crate) compare: bool,
    /// With --compare: how often; more make the intervals narrower.
    #[arg(long, value_name = "R", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Most threads of each program (sets OMP_NUM_THREADS).
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<ThreadCount>,
    /// Begin with what advice (`fathomp advise -o FILE`) expects cores to bring each region,
    /// until it has been executed: a file for each program that there is one of, in any order.
    #[arg(long, value_name = "FILE,...", value_delimiter = ',')]
    pub(crate) advice: Vec<PathBuf>,
    /// Never make teams smaller than programs ask for (sets OMP_DYNAMIC=false): for
    /// programs that need all the threads that omp_get_max_threads promises.
    #[arg(long)]
    pub(crate) keep_teams: bool,
    /// With --strategy gang or --compare: how long each program has the machine, in ms.
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) time_slice: u32,
    /// Where the programs' outputs go, a file for each (1-NAME.out, 1-NAME.err).
    #[arg(long, value_name = "DIR", default_value = "share")]
    pub(crate) directory: PathBuf,
    /// Show the programs' outputs here, line by line, each with the program's number in
    /// front, instead of keeping them in files.
    #[arg(long)]
    pub(crate) mix: bool,
    /// Write a page that shows which program had which cores when.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace outputs of an earlier run.
    #[arg(long)]
    pub(crate) force: bool,
    /// What stands between two programs, for programs that take `--` themselves.
    #[arg(long, value_name = "WORD", default_value = SEPARATOR)]
    pub(crate) separator: OsString,
    /// Programs and their arguments, each after `--`.
    #[arg(value_name = "PROG", required = true, num_args = 1.., trailing_var_arg = true)]
    commands: Vec<OsString>,
}

/// How several programs share one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Strategy {
    /// Region by region, by what cores bring to each.
    Hints,
    /// As the kernel shares processors among threads.
    Plain,
    /// By turns: the whole machine for one program, then for the next one.
    Gang,
    /// Equal parts, each program its own.
    Halves,
}

impl Strategy {
    pub(crate) const ALL: [Self; 4] = [Self::Hints, Self::Plain, Self::Gang, Self::Halves];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hints => "hints",
            Self::Plain => "plain",
            Self::Gang => "gang",
            Self::Halves => "halves",
        }
    }
}

impl Share {
    /// The programs' command lines; a part may be empty.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &[OsString]> {
        self.commands.split(|word| *word == self.separator)
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn commands(line: &str) -> Vec<String> {
        let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
        let Command::Share(share) = arguments.command else {
            panic!("not share");
        };
        let join = |words: &[std::ffi::OsString]| words.join(std::ffi::OsStr::new(" "));
        share
            .commands()
            .map(|one| join(one).into_string().unwrap())
            .collect()
    }

    #[test]
    fn programs_are_told_apart() {
        assert_eq!(commands("fathomp share -- a -x 1 -- b"), ["a -x 1", "b"]);
        assert_eq!(commands("fathomp share --threads 2 -- a"), ["a"]);
        assert_eq!(
            commands("fathomp share -- a -- -- b --"),
            ["a", "", "b", ""]
        );
        assert_eq!(
            commands("fathomp share --separator + -- a -- x + b"),
            ["a -- x", "b"]
        );
    }
}
