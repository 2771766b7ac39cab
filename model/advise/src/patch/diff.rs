//! Unified diffs of single lines.

use super::Edit;
use std::fmt::Write as _;

/// Lines shown around changes.
const CONTEXT: usize = 3;

/// The difference that `edits` (ascending, apart from each other) make to the file `path`
/// that holds `text`; empty without any.
pub(super) fn unified(path: &str, text: &str, edits: &[Edit]) -> String {
    let mut diff = String::new();
    if edits.is_empty() {
        return diff;
    }
    let old: Vec<&str> = text.lines().collect();
    let path = path.trim_start_matches('/');
    // Writing to a String cannot fail.
    let _ = writeln!(diff, "--- a/{path}\n+++ b/{path}");
    let mut added = 0_isize;
    for hunk in hunks(edits) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let from = first.from.saturating_sub(CONTEXT);
        let to = (last.from + last.lines + CONTEXT).min(old.len());
        let grown: isize = hunk
            .iter()
            .map(|edit| edit.with.len() as isize - edit.lines as isize)
            .sum();
        let _ = writeln!(
            diff,
            "@@ -{},{} +{},{} @@",
            from + 1,
            to - from,
            from as isize + 1 + added,
            (to - from) as isize + grown,
        );
        added += grown;
        let mut at = from;
        for edit in hunk {
            put(&mut diff, ' ', &old[at..edit.from]);
            at = edit.from + edit.lines;
            put(&mut diff, '-', &old[edit.from..at]);
            let new: Vec<&str> = edit.with.iter().map(String::as_str).collect();
            put(&mut diff, '+', &new);
        }
        put(&mut diff, ' ', &old[at..to]);
        if to == old.len() && !text.ends_with('\n') {
            diff.push_str("\\ No newline at end of file\n");
        }
    }
    diff
}

fn put(diff: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        let _ = writeln!(diff, "{mark}{line}");
    }
}

/// Edits whose surroundings touch belong together.
fn hunks(edits: &[Edit]) -> Vec<&[Edit]> {
    let near = |a: &Edit, b: &Edit| b.from <= a.from + a.lines + 2 * CONTEXT;
    edits.chunk_by(near).collect()
}
