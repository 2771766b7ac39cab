//! The index of decisions names each of them by its title, and titles look alike.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Where decisions lie, below the root.
const DIRECTORY: &str = "docs/decisions";
/// Their index, in there.
const INDEX: &str = "README.md";

/// What is wrong with the decisions below `root`, one sentence each.
pub(crate) fn complaints(root: &Path) -> io::Result<Vec<String>> {
    let directory = root.join(DIRECTORY);
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut decisions = BTreeMap::new();
    for entry in fs::read_dir(&directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != INDEX {
            decisions.insert(name, fs::read_to_string(entry.path())?);
        }
    }
    let index = match fs::read_to_string(directory.join(INDEX)) {
        Ok(index) => index,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    Ok(compare(&decisions, &index))
}

/// Holds the texts of decisions, by the names of their files, against the index.
fn compare(decisions: &BTreeMap<String, String>, index: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut numbers = BTreeMap::new();
    for (name, text) in decisions {
        let number = name.get(..4).unwrap_or(name);
        if let Some(other) = numbers.insert(number, name) {
            found.push(format!(
                "{DIRECTORY}/{name}: has the number of {other}: take the next free one"
            ));
        }
        match title(number, text) {
            Ok(title) => {
                let line = format!("- [{number}: {title}]({name})");
                if !index.lines().any(|other| other == line) {
                    found.push(format!(
                        "{DIRECTORY}/{INDEX}: lacks the line \"{line}\" for that decision"
                    ));
                }
            }
            Err(why) => found.push(format!("{DIRECTORY}/{name}: {why}")),
        }
    }
    let lines = index.lines().filter(|line| line.starts_with("- ["));
    let surplus = lines.count().saturating_sub(decisions.len());
    if surplus > 0 {
        found.push(format!(
            "{DIRECTORY}/{INDEX}: lists {surplus} more than there are decisions"
        ));
    }
    found
}

/// The title in the first line, which is `# NNNN: Title`.
fn title<'a>(number: &str, text: &'a str) -> Result<&'a str, String> {
    let is_number = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err("its name does not begin with four digits".to_owned());
    }
    let first = text.lines().next().unwrap_or("");
    let title = first
        .strip_prefix("# ")
        .and_then(|rest| rest.strip_prefix(number))
        .and_then(|rest| rest.strip_prefix(": "));
    match title {
        Some(title) if title.trim() == title && !title.is_empty() && !title.ends_with('.') => {
            Ok(title)
        }
        _ => Err(format!(
            "its first line is \"{first}\" instead of \"# {number}: Title without a full stop\""
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(decisions: &[(&str, &str)], index: &str) -> Vec<String> {
        let decisions = decisions
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        compare(&decisions, index)
    }

    #[test]
    fn what_is_listed_by_its_title_is_right() {
        let decisions = [("0001-a.md", "# 0001: One\n"), ("0002-b.md", "# 0002: Two")];
        let index = "# Decisions\n\n- [0001: One](0001-a.md)\n- [0002: Two](0002-b.md)\n";
        assert_eq!(of(&decisions, index), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_renamed_or_gone_is_named() {
        let decisions = [("0001-a.md", "# 0001: One"), ("0002-b.md", "# 0002: Two")];
        let found = of(&decisions, "- [0001: Won](0001-a.md)\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("[0001: One](0001-a.md)"), "{found:?}");
        let index = "- [0001: One](0001-a.md)\n- [0003: Gone](0003-c.md)\n";
        let found = of(&decisions[..1], index);
        assert!(found[0].contains("1 more than"), "{found:?}");
    }

    #[test]
    fn other_styles_of_titles_are_named() {
        for first in [
            "# 1: One",
            "# 0001 One",
            "# 0001: One.",
            "0001: One",
            "# 0001: ",
        ] {
            let found = of(&[("0001-a.md", first)], "");
            assert!(found[0].contains("instead of"), "{first}: {found:?}");
        }
        assert!(of(&[("one.md", "# One")], "")[0].contains("four digits"));
        let twice = [("0001-a.md", "# 0001: One"), ("0001-b.md", "# 0001: Two")];
        assert!(of(&twice, "")[1].contains("next free one"));
    }
}
