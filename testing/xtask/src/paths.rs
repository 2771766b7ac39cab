//! Paths of sources that pages name are there.

use std::path::Path;

/// Paths with a folder `src` that stand in backquotes and do not exist, seen from the root or
/// from the page. Decisions and the changelog may name what is gone.
pub(crate) fn dead(root: &Path, file: &Path, text: &str) -> Vec<String> {
    let history = file.starts_with(root.join("docs/decisions")) || file.ends_with("CHANGELOG.md");
    if history {
        return Vec::new();
    }
    let beside = file.parent().unwrap_or(root);
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| is_path(word))
        .flat_map(alternatives)
        .filter(|path| !root.join(path).exists() && !beside.join(path).exists())
        .map(|path| format!("names {path}, which does not exist"))
        .collect()
}

fn is_path(word: &str) -> bool {
    let parts: Vec<_> = word.split('/').collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./{},".contains(c);
    parts.len() > 1 && parts.contains(&"src") && word.chars().all(plain)
}

/// The paths of which `a/{b,c}` stands for two.
fn alternatives(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        Some((before, inside, after))
    });
    match parts {
        None => vec![path.to_owned()],
        Some((before, inside, after)) => inside
            .split(',')
            .map(|one| format!("{before}{one}{after}"))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_gone_are_named() {
        let root = crate::workspace();
        let text = "`testing/xtask/src/{paths,none}.rs`, `src/main.rs` and `a b/src/c`, `x/src`";
        let page = root.join("testing/xtask/README.md");
        let found = dead(root, &page, text);
        let expected = ["testing/xtask/src/none.rs", "x/src"];
        assert_eq!(
            found,
            expected.map(|path| format!("names {path}, which does not exist"))
        );
        assert!(dead(root, &root.join("CHANGELOG.md"), text).is_empty());
    }
}
