//! At a terminal: Ctrl-C and Ctrl-Z mean what they always mean.

use crate::common::{self, Ended, finish};
use fathomp_requirements::PYTHON;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::{Command, Stdio};

/// Plays keys to a command on a terminal of its own: `argv[1]` is a list of
/// `wait for this text` and `type that` lines, the rest the command. Prints
/// what the terminal showed and the exit code. `ALL STOPPED` waits until whatever the
/// command has started stands still.
const PLAYER: &str = r#"
import os, pty, select, sys, time
script, command = sys.argv[1].split('\n'), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown, seen, deadline = b'', 0, time.time() + 60
def read():
    global shown
    if time.time() > deadline:
        sys.exit('too slow, the terminal showed: %r' % shown)
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            piece = b''
        shown += piece
        return bool(piece)
    return True
def stopped(process):
    try:
        state, _, _, session = open('/proc/%s/stat' % process).read().rpartition(') ')[2].split()[:4]
    except OSError:
        return True
    return session != str(pid) or process == str(pid) or state == 'T'
for line in script:
    expected, _, keys = line.partition(' -> ')
    if expected == 'ALL STOPPED':
        while not all(stopped(process) for process in os.listdir('/proc') if process.isdigit()):
            read()
        expected = ''
    while shown.find(expected.encode(), seen) < 0:
        if not read():
            sys.exit('ended, the terminal showed: %r' % shown)
    seen = shown.find(expected.encode(), seen) + len(expected)
    os.write(terminal, keys.encode().decode('unicode_escape').encode())
while read():
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

fn play(keys: &str, command: &[&str]) -> Ended {
    finish(
        // Whoever runs the tests in the background may ignore signals.
        Command::new("/usr/bin/env")
            .args(["--default-signal", "python3", "-c", PLAYER, keys])
            .args(command)
            .env("XDG_CACHE_HOME", common::cache())
            .current_dir(Path::new(env!("CARGO_TARGET_TMPDIR")))
            .stdin(Stdio::null()),
    )
}

pub(crate) fn trials() -> Vec<Trial> {
    Vec::from(trials!["terminal", &[PYTHON] =>
        the_program_gets_one_interrupt,
        the_program_can_read_the_terminal_and_be_interrupted,
        stopping_and_continuing_leaves_the_exit_code,
        a_studied_program_sees_the_terminal,
    ])
}

const FATHOMP: &str = env!("CARGO_BIN_EXE_fathomp");

fn the_program_gets_one_interrupt() {
    let script =
        "trap 'echo caught' INT; echo ready; for i in 1 2 3 4 5 6; do sleep 0.1; done; exit 4";
    let ended = play(
        "ready -> \\x03",
        &[FATHOMP, "run", "--", "sh", "-c", script],
    );
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(ended.text().matches("caught").count(), 1, "{ended:?}");
}

fn the_program_can_read_the_terminal_and_be_interrupted() {
    let script = "read name; echo hello $name; exec sleep 100";
    let keys = " -> you\\n\nhello you -> \\x03";
    let ended = play(keys, &[FATHOMP, "run", "--", "sh", "-c", script]);
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

fn stopping_and_continuing_leaves_the_exit_code() {
    // Quotes keep what is typed from looking like what is printed.
    let line =
        format!("{FATHOMP} run -- sh -c 'echo rea\"\"dy; read go; echo finis\"\"hed; exit 3'");
    let keys = [
        format!("bash- -> {line}\\n"),
        "ready -> \\x1a".to_owned(),
        // The shell names the job when it stops and again when it goes on. What
        // is typed before its prompt may be lost: it flushes the terminal.
        "Stopped -> ".to_owned(),
        "exit 3' -> ".to_owned(),
        "bash- -> ".to_owned(),
        // Who is reading the terminal when it is to stop takes what is typed before it does.
        "ALL STOPPED -> fg\\n".to_owned(),
        "exit 3' -> go\\n".to_owned(),
        "finished -> ".to_owned(),
        "bash- -> echo code=$?\\n".to_owned(),
        "code=3 -> exit\\n".to_owned(),
    ]
    .join("\n");
    // A shell that edits lines changes the terminal after its prompt, too.
    let shell = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
    let ended = play(&keys, &shell);
    assert!(ended.text().contains("code=3"), "{ended:?}");
}

/// Its output is kept on the way, which it must not notice.
fn a_studied_program_sees_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let source = "#include <stdio.h>\n#include <unistd.h>\nint main(void) { int sum = 0;\n\
        #pragma omp parallel reduction(+ : sum)\n sum++;\n\
        printf(\"%s and %s, %d\\n\", isatty(0) ? \"in\" : \"-\", isatty(1) ? \"out\" : \"-\", sum > 0);\n\
        return 0; }";
    let program = common::compile(directory.path(), "tty", source, &["-fopenmp"]);
    let at = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
    let (study, report) = (at("study"), at("report.html"));
    let program = program.to_string_lossy();
    let places = ["--directory", &study, "-o", &report, "--", &program];
    let command = [&[FATHOMP, "study", "--threads", "1,2"], &places[..]].concat();
    let ended = play(" -> ", &command);
    assert_eq!(ended.in_words().code, Some(0), "{ended:?}");
    assert_eq!(
        ended.text().matches("in and out, 1\r\n").count(),
        1,
        "{ended:?}"
    );
    assert!(!ended.text().contains("differs"), "{ended:?}");
}
