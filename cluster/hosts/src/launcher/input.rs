//! Reading standard input for the first host's program.

use crate::credits::Credits;
use nix::unistd::{getpgrp, tcgetpgrp};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

/// How often to look whether the terminal is ours again.
const TERMINAL_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Begins to read as much as there are credits for; `pass` gets what is read, and nothing at
/// the end. The thread cannot be ended while it waits for input; it ends with the process.
pub(super) fn start(pass: impl Fn(Option<Vec<u8>>) + Send + 'static) -> io::Result<Credits> {
    let credits = Credits::new();
    let reads = credits.clone();
    thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            if let Ok(mut input) = input {
                read(&mut input, &reads, &pass);
            }
            pass(None);
        })?;
    Ok(credits)
}

fn read(input: &mut File, credits: &Credits, pass: &impl Fn(Option<Vec<u8>>)) {
    while let Some(room) = credits.take() {
        // A terminal stops whoever reads it in the background, and would stop all of us.
        while input.is_terminal() && tcgetpgrp(&*input).is_ok_and(|group| group != getpgrp()) {
            thread::sleep(TERMINAL_CHECK_INTERVAL);
        }
        let mut bytes = vec![0; room];
        let got = match input.read(&mut bytes) {
            Ok(0) => return,
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(_) => return,
        };
        bytes.truncate(got);
        credits.give(u32::try_from(room - got).unwrap_or(0));
        if got > 0 {
            pass(Some(bytes));
        }
    }
}
