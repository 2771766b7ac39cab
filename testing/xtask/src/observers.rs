//! Constructs of the runtime, and the hot paths of a node, tell one module `observer` what happens,
//! and name none of those who listen there.

/// A folder whose files are checked.
struct Folder {
    path: &'static str,
    /// Files and folders below it that may know a listener.
    may: &'static [&'static str],
    /// How those who listen are named.
    listeners: &'static [&'static str],
    /// The module that is to be told.
    told: &'static str,
}

const RUNTIMES_LISTENERS: &[&str] = &[
    "fathomp_trace",
    "fathomp_ompt",
    "fathomp_paging",
    "fathomp_core_arbiter",
    "fathomp_trips",
];

const FOLDERS: [Folder; 3] = [
    Folder {
        path: "openmp/omp/src/",
        may: &[
            "observer/",
            // The recorder of a process stands there, and threads that sleep report to it.
            "recorded.rs",
            // A stack that ran out is noted where the process is about to die.
            "overflow.rs",
        ],
        listeners: RUNTIMES_LISTENERS,
        told: "openmp/omp/src/observer",
    },
    Folder {
        path: "openmp/abi/src/",
        may: &["ompt/"],
        listeners: RUNTIMES_LISTENERS,
        told: "openmp/omp/src/observer",
    },
    Folder {
        path: "cluster/node/src/",
        may: &["observer/", "node/observed.rs", "engine/observed.rs"],
        listeners: &[
            "Stopwatch",
            "Sampling",
            "Lookout",
            "Changes",
            "Lines",
            ".stopwatch",
            ".sampling",
            ".lookout",
            ".changes",
        ],
        told: "cluster/node/src/observer",
    },
];

/// What is wrong with a file, by its path from the root.
pub(crate) fn complaint(path: &str, text: &str) -> Option<String> {
    let folder = FOLDERS
        .iter()
        .find(|folder| path.starts_with(folder.path))?;
    let within = &path[folder.path.len()..];
    if folder.may.iter().any(|known| within.starts_with(known)) {
        return None;
    }
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let listeners = folder.listeners.iter();
    let named = code
        .flat_map(|line| listeners.clone().filter(move |name| names(line, name)))
        .next()?;
    Some(format!(
        "names {named}: tell `observer` what happens, which passes it on ({})",
        folder.told
    ))
}

/// Whether a line has a name as a whole word.
fn names(line: &str, name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = line.as_bytes();
    line.match_indices(name).any(|(at, _)| {
        let before = name.starts_with('.') || at == 0 || !is_word(bytes[at - 1]);
        let behind = bytes.get(at + name.len()).copied();
        before && !behind.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructs_that_name_a_listener_are_found() {
        let names = "use fathomp_trace::State;\n";
        assert!(complaint("openmp/omp/src/barrier.rs", names).is_some());
        assert!(complaint("openmp/abi/src/gomp/task.rs", names).is_some());
        assert_eq!(
            complaint("openmp/omp/src/observer/recording/mod.rs", names),
            None
        );
        assert_eq!(
            complaint("openmp/omp/src/barrier.rs", "/// See fathomp_trace.\n"),
            None
        );
        assert_eq!(complaint("records/trace/src/lib.rs", names), None);
    }

    #[test]
    fn so_are_a_nodes_hot_paths() {
        let names = "if let Some(stopwatch) = &observer.stopwatch {\n";
        assert!(complaint("cluster/node/src/node/faults.rs", names).is_some());
        assert_eq!(complaint("cluster/node/src/node/observed.rs", names), None);
        let other = "let lines = output.lines(); // MoreLines\n";
        assert_eq!(complaint("cluster/node/src/node/faults.rs", other), None);
    }
}
