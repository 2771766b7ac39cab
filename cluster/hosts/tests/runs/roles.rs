//! What this program is besides a test.

use fathomp_hosts::{
    Begun, Bytes, Caller, FAN_OUT, Hosts, Job, Options, Run, Setup, Sidecar, Tell, digest,
    file_mask, keep, launch, serve, soft_limits,
};
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The launcher's exit code if it failed before the program ran.
pub(crate) const NOT_LAUNCHED: u8 = 125;
/// Its exit code if the run failed.
pub(crate) const RUN_FAILED: u8 = 70;

/// Does what the first argument says, if it names a role.
pub(crate) fn play() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let role = arguments.next()?;
    match role.to_str()? {
        "agent" => Some(agent()),
        "supervisor" => Some(match keep() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&error.to_string()),
        }),
        "launch" => Some(launcher(arguments.collect())),
        _ => None,
    }
}

fn complain(what: &str) -> ExitCode {
    eprintln!("fathomp: {what}");
    ExitCode::FAILURE
}

/// Says all that it is told.
struct Aloud;

impl Caller for Aloud {
    fn say(&self, sentence: &str) {
        eprintln!("fathomp: {sentence}");
    }

    fn hear(&self, host: u16, told: Vec<u8>) {
        eprintln!("sidecar on host {host}: {}", String::from_utf8_lossy(&told));
    }
}

/// Tells what it was told when the program begins, who starts it, and when it has ended.
struct Echo {
    tell: Tell,
    told: Vec<u8>,
}

impl Sidecar for Echo {
    fn watch(&mut self, starts: u32) {
        let status = std::fs::read_to_string(format!("/proc/{starts}/status"));
        let parent = format!("PPid:\t{}", std::process::id());
        let is_keeper = status.is_ok_and(|status| status.lines().any(|line| line == parent));
        (self.tell)(format!("supervisor {is_keeper}").into_bytes());
    }

    fn end(self: Box<Self>) {
        (self.tell)([&b"end "[..], &self.told].concat());
    }
}

fn sidecar(job: &Job, tell: Tell) -> Begun {
    let told = job.sidecar.clone().map_or_else(Vec::new, |bytes| bytes.0);
    if told == b"refuse" {
        return Err("nothing can be done beside the program".to_owned());
    }
    tell([&b"begin "[..], &told].concat());
    Ok(Box::new(Echo { tell, told }))
}

fn agent() -> ExitCode {
    let version = env::var("TEST_VERSION").unwrap_or_else(|_| "1 test".to_owned());
    let setup = Setup {
        version: &version,
        supervisor: &["supervisor"],
        prepare: &|_| Ok(()),
        sidecar: &sidecar,
    };
    match serve(io::stdin(), io::stdout(), &setup) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string()),
    }
}

/// `launch HOSTS [OPTION=VALUE ...] -- PROGRAM ...`
fn launcher(arguments: Vec<OsString>) -> ExitCode {
    let split = arguments.iter().position(|word| word == "--").unwrap();
    let (options, program) = (&arguments[..split], &arguments[split + 1..]);
    let option = |name: &str| {
        let text = options.iter().filter_map(|option| option.to_str());
        let mut values = text.filter_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        values.next()
    };
    let path = PathBuf::from(&program[0]);
    let number = |text: &str| text.parse::<u16>().unwrap();
    let run = Run {
        hosts: Hosts::parse(options[0].to_str().unwrap()).unwrap(),
        remote: option("ssh").map_or_else(Vec::new, |words| {
            words.split(' ').map(str::to_owned).collect()
        }),
        agent: env::current_exe().unwrap().as_path().into(),
        agent_arguments: vec!["agent".to_owned()],
        by_name: true,
        fan_out: option("fan-out").map_or(FAN_OUT, number),
        ports: option("ports").map(|ports| {
            let (first, last) = ports.split_once('-').unwrap();
            (number(first), number(last))
        }),
        secure: option("secure").is_some(),
        job: Job {
            program: path.as_path().into(),
            program_sha256: digest(&path).unwrap_or_default(),
            arguments: program
                .iter()
                .map(|word| Bytes::from(word.as_os_str()))
                .collect(),
            environment: env::vars_os()
                .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
                .collect(),
            directory: option("directory")
                .map_or_else(|| env::current_dir().unwrap(), PathBuf::from)
                .as_path()
                .into(),
            limits: soft_limits(),
            umask: file_mask(),
            files: Bytes(Vec::new()),
            files_are_shared: false,
            sidecar: option("sidecar").map(|told| Bytes(told.into())),
        },
    };
    let patience = option("patience").map_or(30, |seconds| seconds.parse().unwrap());
    let options = Options {
        version: "1 test".to_owned(),
        signals: vec![1, 2, 3, 10, 12, 15, 20],
        quiet_stdout: false,
        patience: Duration::from_secs(patience),
    };
    let ended = match launch(&run, &options, &Aloud) {
        Ok(ended) => ended,
        Err(error) => return complain(&error.to_string()),
    };
    let code = ended.status.map_or(0, fathomp_types::Ending::shell_code);
    ExitCode::from(match (code, ended.failed, ended.interrupted) {
        (0, Some(true), _) => RUN_FAILED,
        (0, Some(false), _) => NOT_LAUNCHED,
        (0, None, Some(signal)) => 128 + u8::try_from(signal).unwrap(),
        (code, ..) => code,
    })
}
