//! Tests that need more than Rust and gcc.
//!
//! The test harness of the language cannot leave out a test once it runs, so a
//! test that finds its compiler missing would count as passed. Test programs of
//! such tests have a `main` of their own (`harness = false`) that lists them:
//! what cannot run shows as ignored, with the reason.
//!
//! With `FATHOMP_REQUIRE_ALL` in the environment a missing tool is a failure.
//! What the kernel or a container forbids is none, since no package mends it.
#![forbid(unsafe_code)]

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::num::NonZero;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

/// A program that tests start.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Names under which it may be installed; one suffices.
    pub commands: &'static [&'static str],
    /// The Debian package that brings it.
    pub package: &'static str,
}

/// The C++ compiler.
pub const GXX: Tool = tool(&["g++"], "g++");
/// The Fortran compiler.
pub const GFORTRAN: Tool = tool(&["gfortran"], "gfortran");
/// LLVM's C compiler; its OpenMP headers come with `libomp-dev`.
pub const CLANG: Tool = tool(&["clang"], "clang libomp-dev");
/// The disassembler, and with it the rest of binutils.
pub const OBJDUMP: Tool = tool(&["objdump"], "binutils");
/// The interpreter.
pub const PYTHON: Tool = tool(&["python3"], "python3");
/// What executes and counts every instruction.
pub const VALGRIND: Tool = tool(&["valgrind"], "valgrind");
/// The database.
pub const SQLITE: Tool = tool(&["sqlite3"], "sqlite3");
/// One implementation of MPI: compilers and the program that starts ranks.
pub const OPENMPI: Tool = tool(&["mpicc.openmpi"], "openmpi-bin libopenmpi-dev");
/// The other.
pub const MPICH: Tool = tool(&["mpicc.mpich"], "mpich libmpich-dev");
/// What reads archives of the Open Trace Format 2.
pub const OTF2_PRINT: Tool = tool(&["otf2-print"], "otf2-tools");
/// What shows how hwloc sees a machine.
pub const LSTOPO: Tool = tool(&["lstopo-no-graphics"], "hwloc-nox");
/// The plotter.
pub const GNUPLOT: Tool = tool(&["gnuplot"], "gnuplot-nox");

const fn tool(commands: &'static [&'static str], package: &'static str) -> Tool {
    Tool { commands, package }
}

impl Tool {
    /// Whether it starts.
    #[must_use]
    pub fn is_installed(self) -> bool {
        self.commands.iter().any(|command| {
            Command::new(command)
                .arg("--version")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        })
    }

    /// What to say where it is missing.
    #[must_use]
    pub fn reason(self) -> String {
        format!(
            "needs {}: apt-get install {}",
            self.commands.join(" or "),
            self.package
        )
    }
}

/// What the kernel, or a container's rules, keep a test from trying.
#[derive(Clone, Debug)]
pub struct Forbidden(pub String);

impl Forbidden {
    /// A reason, such as "nothing may be mounted here".
    ///
    /// # Errors
    /// Always: it is what a test returns that could not run.
    pub fn because<T>(reason: impl Into<String>) -> Result<T, Self> {
        Err(Self(reason.into()))
    }
}

/// Whether everything must run here.
#[must_use]
pub fn all_required() -> bool {
    std::env::var_os(fathomp_launch::names::REQUIRE_ALL.name).is_some()
}

/// Whether tests that take long are to run too, as in `.ci/run`.
#[must_use]
pub fn slow_wanted() -> bool {
    std::env::var_os(fathomp_launch::names::ALL_TESTS.name).is_some()
}

/// The end of a test that takes long, where such tests are not wanted.
#[must_use]
pub fn too_slow() -> Completion {
    Completion::ignored_with(format!(
        "takes long; {}=1 runs it",
        fathomp_launch::names::ALL_TESTS
    ))
}

/// A test that needs nothing but itself.
pub fn plain(name: &'static str, check: fn()) -> Trial {
    Trial::test(name, move || {
        check();
        Ok(())
    })
}

/// A test that cannot run without these tools.
pub fn with_tools(name: &'static str, tools: &'static [Tool], check: fn()) -> Trial {
    Trial::ignorable_test(name, move || {
        if let Some(missing) = tools.iter().find(|tool| !tool.is_installed()) {
            return left_out(missing.reason());
        }
        check();
        Ok(Completion::Completed)
    })
}

/// A test that finds out by trying whether it is permitted here.
pub fn if_permitted(name: &'static str, check: fn() -> Result<(), Forbidden>) -> Trial {
    Trial::ignorable_test(name, move || {
        Ok(match check() {
            Ok(()) => Completion::Completed,
            Err(Forbidden(reason)) => Completion::ignored_with(reason),
        })
    })
}

/// The end of a test whose tool is missing: ignored, or failed where all are required.
///
/// # Errors
/// If everything must run here.
pub fn left_out(reason: String) -> Result<Completion, Failed> {
    if all_required() {
        Err(reason.into())
    } else {
        Ok(Completion::ignored_with(reason))
    }
}

/// Runs tests as the arguments of the test program ask.
#[must_use]
pub fn run(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The same for tests that wait more than they compute, for hosts or terminals: two for each
/// processor at a time, if the arguments do not say how many.
#[must_use]
pub fn run_waiting(trials: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    arguments.test_threads.get_or_insert(2 * processors);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// An array of a trial for each test function, under its own name:
/// `tests![&[GXX] => a, b]` by [`with_tools`], `tests![a, b]` by [`plain`].
#[macro_export]
macro_rules! tests {
    ($tools:expr => $($check:ident),+ $(,)?) => {
        [$($crate::with_tools(stringify!($check), $tools, $check)),+]
    };
    ($($check:ident),+ $(,)?) => {
        [$($crate::plain(stringify!($check), $check)),+]
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        const NOTHING: Tool = tool(&["no-such-tool-1", "no-such-tool-2"], "nothing");
        assert!(!NOTHING.is_installed());
        assert_eq!(
            NOTHING.reason(),
            "needs no-such-tool-1 or no-such-tool-2: apt-get install nothing"
        );
        assert!(tool(&["no-such-tool-1", "cargo"], "cargo").is_installed());
    }
}
