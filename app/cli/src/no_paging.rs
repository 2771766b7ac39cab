//! What the launcher does for paging where the program is built without that wing: nothing, since
//! nobody can ask for it. The names are those of `paging/commands`.

use crate::args::paging::{Command, Paging};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::launch::{Ended, Stdin, Stdout};
use fathomp_report::section::{Built, Fact, Section};
use fathomp_runtime::Unpacked;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// There is none.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Nothing {}

/// What nobody has, and never goes wrong. Others do not see that, so that the compiler does not take
/// their lines for unreachable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Never(Nothing);

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl Error for Never {}

/// What to record of paging.
pub(crate) type Plan = Never;
/// A recording of paging that is being made.
pub(crate) type Session = Never;
/// A control group that limits a program's memory.
pub(crate) type Group = Never;
/// What less memory costs.
pub(crate) type Curve = Never;
/// What a recording shows.
pub(crate) type PagingFacts = Never;

/// There is no command.
pub(crate) fn carry_out(command: &Command, _console: Console) -> Outcome {
    match *command {}
}

/// No recording is looked at for its paging.
pub(crate) fn is_there(_recording: &Path) -> bool {
    false
}

/// Nothing of paging.
pub(crate) fn facts(_recording: &Path) -> Result<Option<PagingFacts>, Never> {
    Ok(None)
}

/// Memory is not limited.
pub(crate) fn with_less_memory<R>(
    _asked: &Paging,
    _output: &Path,
    _console: Console,
    _run: impl Fn(&Path, &Group, Stdin, Stdout) -> Result<R, Failure>,
    _seen: impl Fn(&R) -> (Ended, Option<u64>),
) -> Result<Option<(R, Curve)>, Failure> {
    Ok(None)
}

/// A recording of paging that was made.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) tasks: usize,
    pub(crate) processes: usize,
    pub(crate) elsewhere: Option<String>,
    pub(crate) io_calls: Option<(u64, u64)>,
    pub(crate) problems: Vec<String>,
}

impl Recorded {
    pub(crate) fn is_something(&self) -> bool {
        false
    }

    pub(crate) fn coverage(&self) -> Option<String> {
        None
    }
}

impl Never {
    pub(crate) fn new(_asked: &Paging) -> Result<Option<Plan>, Self> {
        Ok(None)
    }

    pub(crate) fn interposer<'a>(&self, _unpacked: &'a Unpacked) -> &'a Path {
        match self.0 {}
    }

    pub(crate) fn begin(plan: &Plan, _recording: &Path, _limit: u64) -> Result<Session, Self> {
        match plan.0 {}
    }

    pub(crate) fn live(&self) -> PathBuf {
        match self.0 {}
    }

    pub(crate) fn collector(&self) -> u32 {
        match self.0 {}
    }

    pub(crate) fn watch(&mut self, _process: u32) {
        match self.0 {}
    }

    pub(crate) fn finish(self, _wall_ns: u64) -> Result<Recorded, Self> {
        match self.0 {}
    }

    pub(crate) fn add(&self, _process: u32) -> Result<(), Self> {
        match self.0 {}
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        match self.0 {}
    }
}

impl Section for Never {
    fn id(&self) -> &'static str {
        match self.0 {}
    }

    fn title(&self) -> &'static str {
        match self.0 {}
    }

    fn program(&self) -> &str {
        match self.0 {}
    }

    fn summary(&self) -> Vec<String> {
        match self.0 {}
    }

    fn trust(&self) -> (Vec<String>, Vec<Fact>) {
        match self.0 {}
    }

    fn environment(&self) -> Vec<Fact> {
        match self.0 {}
    }

    fn template(&self) -> &'static str {
        match self.0 {}
    }

    fn script(&self) -> &'static str {
        match self.0 {}
    }

    fn build(&self) -> Built {
        match self.0 {}
    }

    fn json(&self) -> Result<serde_json::Value, serde_json::Error> {
        match self.0 {}
    }
}

/// What hosts record of paging, and tell this one.
#[cfg(feature = "cluster")]
mod on_hosts {
    use super::{Never, Plan, Recorded};
    use crate::failure::Failure;
    use fathomp_types::ClockReading;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    /// Where streams would be.
    pub(crate) const DIRECTORY: &str = "paging";
    /// What they would be called.
    pub(crate) const EXTENSION: &str = "fthp";

    pub(crate) type Readings = (Option<ClockReading>, Option<ClockReading>);
    pub(crate) type OfHosts = Never;

    impl Never {
        pub(crate) fn gather(
            _recording: &Path,
            (plan, _limit): (&Plan, u64),
            _names: &[String],
        ) -> Result<OfHosts, Failure> {
            match plan.0 {}
        }

        pub(crate) fn contradiction_on_hosts(&self) -> Option<&'static str> {
            match self.0 {}
        }

        pub(crate) fn circumstances(&self) -> &Self {
            self
        }

        pub(crate) fn finish_part(self, _most: u64) -> Result<Self, Self> {
            match self.0 {}
        }

        pub(crate) fn file(&self, _host: u16, _name: &str) -> PathBuf {
            match self.0 {}
        }

        pub(crate) fn hear(&mut self, _host: u16, _json: &[u8]) -> Result<(), Option<Failure>> {
            match self.0 {}
        }

        pub(crate) fn finish_all(
            &self,
            _readings: &[Readings],
            _wall: Duration,
        ) -> Result<Recorded, Failure> {
            match self.0 {}
        }
    }
}

#[cfg(feature = "cluster")]
pub(crate) use on_hosts::{DIRECTORY, EXTENSION, OfHosts, Readings};
