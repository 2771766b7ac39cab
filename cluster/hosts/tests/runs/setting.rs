//! Programs, directories and commands for runs.

use std::fmt;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything here takes; a test must fail, not hang.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The program that runs do, compiled once.
pub(crate) fn host_program() -> &'static Path {
    static GUEST: OnceLock<PathBuf> = OnceLock::new();
    GUEST.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("host_program-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/host_program.c");
        let compiled = Command::new("gcc")
            .args(["-O1", "-D_GNU_SOURCE", "-Wall", "-o"])
            .args([&path, &source])
            .status()
            .unwrap();
        assert!(compiled.success());
        path
    })
}

/// A directory in which a run takes place, and a word by which its processes are found.
pub(crate) struct Setting {
    pub(crate) directory: tempfile::TempDir,
    mark: String,
}

/// What a run left.
pub(crate) struct Left {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Debug for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            stdout,
            stderr,
        } = self;
        write!(f, "code {code:?}\nstdout:\n{stdout}\nstderr:\n{stderr}")
    }
}

impl Left {
    /// It went well, and nobody complained.
    pub(crate) fn well(&self) -> &Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self
    }

    /// It failed with this code and one sentence that has all these words in it.
    pub(crate) fn failed(&self, code: u8, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code.into()), "{self:?}");
        let ours = self
            .stderr
            .lines()
            .filter(|line| line.starts_with("fathomp: "));
        assert_eq!(ours.count(), 1, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word}: {self:?}");
        }
        self
    }

    /// Lines of standard output, sorted.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

impl Setting {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().display().to_string();
        Self { directory, mark }
    }

    /// A script that stands for `ssh`: it starts the command here, as a shell on that host.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    /// A script that logs in nowhere.
    pub(crate) fn ssh(&self) -> String {
        self.script("ssh", "#!/bin/sh\nshift\nexec sh -c \"exec $*\"\n")
    }

    /// A command that launches what comes after `--`; if nothing does, the program in `host_program.c`.
    pub(crate) fn command(&self, hosts: &str, options: &[&str], words: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg("launch")
            .arg(hosts)
            .args(options)
            .arg("--")
            .arg(host_program())
            .args(words.split_whitespace())
            .env("TEST_RUN", &self.mark)
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A run to its end, after which nothing of it is left.
    pub(crate) fn run(&self, hosts: &str, options: &[&str], words: &str) -> Left {
        self.finish(self.command(hosts, options, words).spawn().unwrap())
    }

    /// Waits for the end of a run.
    pub(crate) fn finish(&self, mut child: Child) -> Left {
        let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > TEST_TIMEOUT {
                let left = self.processes();
                child.kill().unwrap();
                panic!("a run does not end; there are {left:?}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let left = Left {
            code: status.code().or(status.signal().map(|signal| -signal)),
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        };
        self.nothing_is_left();
        left
    }

    /// Waits until no process of the run is left.
    pub(crate) fn nothing_is_left(&self) {
        let begun = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "left behind: {left:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Processes of the run, which have its mark in their environment: number, command line.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("TEST_RUN={}", self.mark);
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        entries
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.parse().ok()?;
                let environment = fs::read(entry.path().join("environ")).ok()?;
                let has_mark = environment
                    .split(|byte| *byte == 0)
                    .any(|one| one == mark.as_bytes());
                let line = fs::read(entry.path().join("cmdline")).ok()?;
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                has_mark.then_some((pid, line))
            })
            .collect()
    }

    /// Numbers of processes whose command lines have this word.
    pub(crate) fn numbers(&self, word: &str) -> Vec<i32> {
        let all = self.processes().into_iter();
        let named = all.filter(|(_, line)| line.split(' ').any(|part| part == word));
        named.map(|(pid, _)| pid).collect()
    }
}

/// Waits until `child` has printed so many lines; gives them.
pub(crate) fn await_lines(child: &mut Child, count: usize) -> Vec<String> {
    let stdout = child.stdout.as_mut().unwrap();
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut byte = [0];
    while lines.len() < count && stdout.read(&mut byte).unwrap() == 1 {
        match byte[0] {
            b'\n' => lines.push(String::from_utf8(std::mem::take(&mut line)).unwrap()),
            byte => line.push(byte),
        }
    }
    lines
}

fn drain(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            stream.read_to_end(&mut bytes).unwrap();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
