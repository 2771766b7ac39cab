//! Whether two paths mean the same file.

/// Whether one path ends with the other, by whole parts. Debugging information has paths
/// as the compiler got them, users give others; `.` and `..` in the middle are resolved.
pub(super) fn same_file(left: &str, right: &str) -> bool {
    let (left, right) = (parts(left), parts(right));
    let common = left.len().min(right.len());
    common > 0 && left[left.len() - common..] == right[right.len() - common..]
}

fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::same_file;

    #[test]
    fn paths_are_compared_from_their_ends() {
        assert!(same_file("/home/x/src/a.c", "src/a.c"));
        assert!(same_file("a.c", "/home/x/src/a.c"));
        assert!(same_file("../lib/./a.c", "/x/lib/a.c"));
        assert!(!same_file("/home/x/a.c", "/home/y/a.c"));
        assert!(!same_file("ba.c", "a.c"));
        assert!(!same_file("", "a.c"));
    }
}
