//! Constructs of the runtime tell its module `observer` what happens, and name none of those who
//! listen there.

/// Folders whose files are checked, and below them the files that may know a listener.
const FOLDERS: [(&str, &[&str]); 2] = [
    (
        "openmp/omp/src/",
        &[
            "observer/",
            // The recorder of a process stands there, and threads that sleep report to it.
            "recorded.rs",
            // A stack that ran out is noted where the process is about to die.
            "overflow.rs",
        ],
    ),
    ("openmp/abi/src/", &["ompt/"]),
];

/// Crates of those who listen.
const LISTENERS: [&str; 5] = [
    "fathomp_trace",
    "fathomp_ompt",
    "fathomp_paging",
    "fathomp_core_arbiter",
    "fathomp_trips",
];

/// What is wrong with a file, by its path from the root.
pub(crate) fn complaint(path: &str, text: &str) -> Option<String> {
    let (folder, may) = FOLDERS
        .iter()
        .find(|(folder, _)| path.starts_with(folder))?;
    let within = &path[folder.len()..];
    if may.iter().any(|known| within.starts_with(known)) {
        return None;
    }
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let named = code
        .flat_map(|line| LISTENERS.iter().filter(move |name| line.contains(*name)))
        .next()?;
    Some(format!(
        "names {named}: tell `observer` what happens, which passes it on (openmp/omp/src/observer)"
    ))
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
}
