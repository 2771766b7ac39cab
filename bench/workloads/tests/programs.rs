//! Every workload at its smallest size, as two compilers build it: warnings are
//! errors, the serial program runs under the sanitizers of addresses and
//! undefined behaviour, the parallel one gives the same result on libgomp and on
//! our runtime, and ThreadSanitizer, told by LLVM's runtime what synchronises
//! what, sees no race.
//!
//! The race tests run with `FATHOMP_ALL_TESTS=1`. With `FATHOMP_REQUIRE_ALL=1` a missing clang fails the race tests instead of
//! skipping them.
#![forbid(unsafe_code)]

use fathomp_process::{self as process, Limits};
use fathomp_toolchain::{Compiler, File, Recipe, build};
use fathomp_workloads::{Answer, Class, Runtime, Trial, Variant, Workload, catalogue, check};
use libtest_mimic::{Arguments, Completion, Failed, Trial as Test};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

/// A test must fail, not hang; sanitized runs on a busy machine take seconds.
const LIMIT: Duration = Duration::from_secs(300);
const STRICT: [&str; 4] = ["-g", "-Wall", "-Wextra", "-Werror"];
const SANITIZERS: [&str; 3] = [
    "-O1",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];
const RACE_DETECTOR: [&str; 2] = ["-O1", "-fsanitize=thread"];
/// LLVM's runtime is not instrumented: what it does inside is no race, what it
/// orders for the program is reported by Archer.
const RACE_OPTIONS: File<'static> = File {
    path: "options.c",
    text: "const char *__tsan_default_options(void);\nconst char *__tsan_default_options(void)\n{\n    return \"ignore_noninstrumented_modules=1 halt_on_error=1\";\n}\n",
};

/// What all tests share.
struct Shared {
    cache: PathBuf,
    gcc: Compiler,
    runtimes: [Runtime; 2],
    races: Result<RaceDetector, String>,
}

/// A compiler with ThreadSanitizer, and LLVM's tool that tells it what an OpenMP
/// runtime synchronises.
struct RaceDetector {
    clang: Compiler,
    archer: PathBuf,
}

impl RaceDetector {
    fn find() -> Result<Self, String> {
        let clang = Compiler::find("clang").map_err(|error| error.to_string())?;
        let limits = Limits {
            time: LIMIT,
            bytes: 4096,
        };
        let asked = process::run(Command::new("clang").arg("-print-resource-dir"), limits)
            .map_err(|error| format!("clang -print-resource-dir: {error}"))?;
        // lib/clang/14.0.6, and the tool in lib.
        let archer = Path::new(asked.stdout.trim())
            .ancestors()
            .nth(2)
            .map(|directory| directory.join("libarcher.so"))
            .filter(|archer| archer.exists())
            .ok_or("there is no libarcher.so beside clang: install libomp-dev")?;
        Ok(Self { clang, archer })
    }

    fn build(&self, mut recipe: Recipe<'_>, cache: &Path) -> Result<PathBuf, Failed> {
        recipe.files.push(RACE_OPTIONS);
        recipe.libraries.extend([
            "-Wl,--no-as-needed".to_owned(),
            self.archer.display().to_string(),
            format!("-Wl,-rpath,{}", self.archer.with_file_name("").display()),
        ]);
        Ok(build(&self.clang, &recipe, cache)?.path)
    }
}

fn flags(more: &[&str]) -> Vec<String> {
    STRICT
        .iter()
        .chain(more)
        .map(|&flag| flag.to_owned())
        .collect()
}

fn variant(openmp: bool, more: &[&str]) -> Variant {
    let mut flags = flags(more);
    if !openmp {
        flags.push("-Wno-unknown-pragmas".to_owned());
    }
    Variant {
        class: Class::S,
        openmp,
        flags,
    }
}

fn run(
    workload: &Workload,
    program: &Path,
    runtime: &Runtime,
    threads: u32,
) -> Result<Answer, Failed> {
    let trial = Trial {
        program,
        arguments: &workload.size_arguments(Class::S, None),
        runtime,
        threads,
        limit: LIMIT,
    };
    let on = format!("{}, {}", runtime.name, program.display());
    trial
        .run()
        .map_err(|error| Failed::from(format!("{on}: {error}")))
}

/// Right without undefined behaviour when serial, and the same on every runtime.
fn results(workload: &Workload, shared: &Shared) -> Result<(), Failed> {
    const THREADS: u32 = 2;
    let [system, _] = &shared.runtimes;
    let serial = workload.recipe(&variant(false, &SANITIZERS));
    let serial = build(&shared.gcc, &serial, &shared.cache)?;
    let reference = run(workload, &serial.path, system, 1)?;
    check(&reference, 1, reference.checksum)?;

    let parallel = workload.recipe(&variant(true, &["-O2"]));
    let parallel = build(&shared.gcc, &parallel, &shared.cache)?;
    for runtime in &shared.runtimes {
        let answer = run(workload, &parallel.path, runtime, THREADS)?;
        check(&answer, THREADS, reference.checksum)
            .map_err(|wrong| format!("{}: {wrong}", runtime.name))?;
    }
    Ok(())
}

fn races(workload: &Workload, shared: &Shared) -> Result<(), Failed> {
    const THREADS: u32 = 3;
    let [system, _] = &shared.runtimes;
    let recipe = workload.recipe(&variant(true, &RACE_DETECTOR));
    let program = shared.races.as_ref()?.build(recipe, &shared.cache)?;
    let answer = run(workload, &program, system, THREADS)?;
    check(&answer, THREADS, answer.checksum)?;
    Ok(())
}

/// A program of one file that must come to a bad end.
fn faulty(text: &str, flags: Vec<String>) -> Recipe<'_> {
    Recipe {
        name: "faulty".to_owned(),
        files: vec![File {
            path: "faulty.c",
            text,
        }],
        includes: Vec::new(),
        flags,
        libraries: Vec::new(),
    }
}

fn must_complain(program: &Path, words: &str) -> Result<(), Failed> {
    let limits = Limits {
        time: LIMIT,
        bytes: 64 << 10,
    };
    let ended = process::run(Command::new(program).env("OMP_NUM_THREADS", "2"), limits)?;
    if !ended.status.success() && ended.stderr.contains(words) {
        return Ok(());
    }
    Err(format!("{}: {}", ended.describe(), ended.stderr).into())
}

/// The checks above mean nothing if they cannot fail.
fn a_fault_is_found(shared: &Shared) -> Result<(), Failed> {
    const FAULTS: [(&str, &str); 2] = [
        (
            "int main(int argc, char **argv)\n{\n    (void)argv;\n    return 0x7fffffff + argc != 0;\n}\n",
            "runtime error",
        ),
        (
            "#include <stdlib.h>\nint main(int argc, char **argv)\n{\n    (void)argv;\n    char *memory = calloc((size_t)argc + 3, 1);\n    return memory == NULL ? 1 : memory[argc + 3];\n}\n",
            "AddressSanitizer",
        ),
    ];
    for (text, words) in FAULTS {
        let program = build(
            &shared.gcc,
            &faulty(text, flags(&SANITIZERS)),
            &shared.cache,
        )?;
        must_complain(&program.path, words)?;
    }
    Ok(())
}

fn a_race_is_found(shared: &Shared) -> Result<(), Failed> {
    const RACE: &str = "#include <stdio.h>\nint main(void)\n{\n    int n = 0;\n#pragma omp parallel for\n    for (int i = 0; i < 10000; i++)\n        n++;\n    printf(\"%d\\n\", n);\n    return 0;\n}\n";
    let mut flags = flags(&RACE_DETECTOR);
    flags.push("-fopenmp".to_owned());
    let detector = shared.races.as_ref()?;
    let program = detector.build(faulty(RACE, flags), &shared.cache)?;
    must_complain(&program, "data race")
}

fn shared() -> Result<Shared, Failed> {
    let ours = Runtime {
        plan: fathomp_launch::Plan {
            preload: vec![fathomp_runtime::unpack()?.library],
            ..fathomp_launch::Plan::default()
        },
        ..Runtime::linked("fathomp")
    };
    Ok(Shared {
        cache: PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
        gcc: Compiler::find("gcc")?,
        runtimes: [Runtime::linked("system"), ours],
        races: RaceDetector::find(),
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let shared = match shared() {
        Ok(shared) => Arc::new(shared),
        Err(error) => {
            let why = error.message().unwrap_or_default();
            eprintln!("the workloads cannot be tested: {why}");
            return ExitCode::FAILURE;
        }
    };
    let mut tests = vec![
        test(&shared, "a_fault_is_found".to_owned(), a_fault_is_found),
        race_test(
            &shared,
            "a_race_is_found".to_owned(),
            false,
            a_race_is_found,
        ),
    ];
    for workload in catalogue() {
        let name = workload.full_name();
        let same = workload.clone();
        tests.push(test(&shared, format!("{name}::results"), move |shared| {
            results(&workload, shared)
        }));
        tests.push(race_test(
            &shared,
            format!("{name}::races"),
            true,
            move |shared| races(&same, shared),
        ));
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn test(
    shared: &Arc<Shared>,
    name: String,
    check: impl FnOnce(&Shared) -> Result<(), Failed> + Send + 'static,
) -> Test {
    let shared = Arc::clone(shared);
    Test::test(name, move || check(&shared))
}

/// A test that needs the race detector. It takes long for all workloads together, and they
/// seldom change: `slow` ones run where such are wanted.
fn race_test(
    shared: &Arc<Shared>,
    name: String,
    slow: bool,
    check: impl FnOnce(&Shared) -> Result<(), Failed> + Send + 'static,
) -> Test {
    let shared = Arc::clone(shared);
    Test::ignorable_test(name, move || {
        if let Err(why) = &shared.races {
            return fathomp_requirements::left_out(why.to_string());
        }
        if slow && !fathomp_requirements::slow_wanted() {
            return Ok(fathomp_requirements::too_slow());
        }
        check(&shared)?;
        Ok(Completion::Completed)
    })
}
