//! Which process descends from which, as the kernel shows it.

use std::fs;

/// A process among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub number: u32,
    /// Its parent's; 0 if that is not to be seen from here.
    pub parent: u32,
    /// The session that it belongs to.
    pub session: u32,
}

impl Process {
    /// The process of that number, if there is one. A zombie is one.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
        parse(number, &String::from_utf8_lossy(&stat))
    }
}

/// All processes that are to be seen from here; none if `/proc` is not there.
#[must_use]
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(Process::of).collect()
}

/// The process of the number `root` and what descends from it by parents that still live,
/// parents before children. Those for which `stays` says no are left out, with what descends
/// from them.
#[must_use]
pub fn family(root: u32, all: &[Process], stays: impl Fn(&Process) -> bool) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let children = all.iter().filter(|one| one.parent == parent && stays(one));
        for child in children {
            // Numbers that were given anew while all were read could make a circle.
            if !found.contains(&child.number) {
                found.push(child.number);
            }
        }
    }
    found
}

/// `number (name) state parent group session ...`: the name may hold anything.
fn parse(number: u32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    // A group or a session of another name space shows as 0 or less.
    let session = fields.nth(1)?.parse().unwrap_or(0);
    Some(Process {
        number,
        parent,
        session,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn names_may_hold_anything() {
        let process = parse(7, "7 (a) 1 2 (b)) S 3 4 5 0 -1").unwrap();
        let expected = Process {
            number: 7,
            parent: 3,
            session: 5,
        };
        assert_eq!(process, expected);
        for cut in ["", "7 (a", "7 (a)", "7 (a) S", "7 (a) S 3 4"] {
            assert_eq!(parse(7, cut), None, "{cut}");
        }
    }

    #[test]
    fn children_of_children_are_family() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & read line; kill $!"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let me = std::process::id();
        let seen = loop {
            let seen = family(me, &all(), |_| true);
            let below = family(shell.id(), &all(), |_| true);
            if below.len() == 2 {
                assert!(seen.contains(&shell.id()));
                break family(me, &all(), |one| one.number != shell.id());
            }
        };
        assert!(!seen.contains(&shell.id()));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn a_circle_has_an_end() {
        let circle = [(1, 2), (2, 1)].map(|(number, parent)| Process {
            number,
            parent,
            session: 1,
        });
        assert_eq!(family(1, &circle, |_| true), [1, 2]);
    }
}
