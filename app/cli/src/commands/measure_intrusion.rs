//! `fathomp record --measure-intrusion`: the runs of the program, of which paging is recorded or
//! nothing is.

use crate::args::Record;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::launch::{self, Ended, Launch};
use crate::paging::{self, IntrusionAsked, Runner};
use crate::program::Program;
use crate::recording::{self, Destination, Extras, Request, Streams, Subject, Teams};
use fathomp_runtime::Unpacked;
use std::path::Path;

/// Measures what recording costs a program, by so many rounds of runs.
pub(super) fn measure_intrusion(
    plan: &Record,
    rounds: u32,
    paging: &paging::Plan,
    (program, unpacked): (&Program, &Unpacked),
    console: Console,
) -> Outcome {
    let asked = IntrusionAsked {
        rounds,
        paging: &plan.paging,
        plan: paging,
        output: &plan.output,
        force: plan.force,
    };
    let runs = Runs {
        plan,
        program,
        unpacked,
    };
    paging::measure_intrusion(&asked, program, &runs, console)
}

/// What all runs share.
struct Runs<'a> {
    plan: &'a Record,
    program: &'a Program,
    unpacked: &'a Unpacked,
}

impl Runner for Runs<'_> {
    fn plain(&self, streams: Streams) -> Result<Ended, Failure> {
        let cluster = self.plan.cluster;
        let launch = Launch {
            program: self.program,
            tap: None,
            library: recording::needs_runtime(self.program, self.plan.threads, cluster)
                .then(|| launch::library(self.unpacked, cluster)),
            plan: launch::plan(self.plan.threads, cluster),
            stdin: streams.stdin,
            stdout: streams.stdout,
            stderr: streams.stderr,
        };
        Ok(launch.start()?.wait(None)?)
    }

    fn recorded(
        &self,
        plan: &paging::Plan,
        directory: &Path,
        streams: Streams,
    ) -> Result<(Ended, Vec<String>), Failure> {
        let subject = Subject {
            program: self.program,
            unpacked: self.unpacked,
            runtime: None,
        };
        let destination = Destination::replacing(directory, self.plan.max_size.0);
        let recorded = recording::record(&Request {
            teams: Teams {
                threads: self.plan.threads,
                cluster: self.plan.cluster,
                ..Teams::default()
            },
            extras: Extras {
                paging: Some(plan),
                ..Extras::default()
            },
            ..Request::new(subject, destination, streams)
        })?;
        Ok((recorded.ended, recorded.problems))
    }
}
