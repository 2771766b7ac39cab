//! Where the library may be unpacked to.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A directory that could hold fathomp's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The directory, not necessarily existing yet.
    pub path: PathBuf,
    /// Others may write beside it, so it must be owned and closed by us.
    pub shared: bool,
}

/// Candidates in order of preference: the user's cache, then a private
/// directory among the temporary files.
#[must_use]
pub fn candidates() -> Vec<Candidate> {
    candidates_from(|name| env::var_os(name), nix::unistd::geteuid().as_raw())
}

fn candidates_from(get: impl Fn(&str) -> Option<OsString>, uid: u32) -> Vec<Candidate> {
    let absolute = |name: &str| get(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let own = |path: PathBuf| Candidate {
        path,
        shared: false,
    };
    let mut found = Vec::new();
    // The XDG specification says that relative paths are to be ignored.
    found.extend(absolute("XDG_CACHE_HOME").map(|p| own(p.join("fathomp"))));
    found.extend(absolute("HOME").map(|p| own(p.join(".cache/fathomp"))));
    let temporary = absolute("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
    found.push(Candidate {
        path: temporary.join(format!("fathomp-{uid}")),
        shared: true,
    });
    // The loader splits LD_PRELOAD at these bytes and expands the last.
    found.retain(|c| {
        !c.path
            .as_os_str()
            .as_bytes()
            .iter()
            .any(|b| b" \t\n:$".contains(b))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Vec<String> {
        candidates_from(
            |name| {
                let found = variables.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| OsString::from(value))
            },
            7,
        )
        .into_iter()
        .map(|c| c.path.display().to_string())
        .collect()
    }

    #[test]
    fn the_cache_of_the_user_comes_first() {
        assert_eq!(
            with(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]),
            ["/c/fathomp", "/h/.cache/fathomp", "/tmp/fathomp-7"]
        );
    }

    #[test]
    fn paths_the_loader_would_split_are_passed_over() {
        assert_eq!(
            with(&[
                ("XDG_CACHE_HOME", "/my cache"),
                ("HOME", "/h:1"),
                ("TMPDIR", "rel")
            ]),
            ["/tmp/fathomp-7"]
        );
    }
}
