//! `cargo xtask site`: the documentation as a site, made by mdBook, in `target/site/book`.
//!
//! Its pages are those of `docs`, in the order of `docs/SUMMARY.md`, the README as the first one, and
//! a reference with what each command says of itself. The site has no address of the repository, so
//! what leads to files elsewhere in it is text there.

use crate::dist::files::{Outcome, built, copy, done, files_below, make_dir, output, read, write};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// How mdBook is told what to make.
const BOOK: &str = "\
[book]
title = \"fathomp\"
src = \"src\"
language = \"en\"

[output.html]
smart-punctuation = false
";

/// Makes the site of the tree at `root`.
pub(crate) fn run(root: &Path) -> Outcome<()> {
    let site = root.join("target/site");
    let pages = site.join("src");
    // What was there before may have other names now.
    let _ = fs::remove_dir_all(&pages);
    make_dir(&pages)?;
    write(&site.join("book.toml"), BOOK)?;
    let docs = root.join("docs");
    for file in files_below(&docs)? {
        let name = file.strip_prefix(&docs).unwrap_or(&file);
        let to = pages.join(name);
        make_dir(to.parent().unwrap_or(&pages))?;
        match name.extension().is_some_and(|extension| extension == "md") {
            true => write(&to, &page(&read(&file)?, &Path::new("docs").join(name)))?,
            false => copy(&file, &to)?,
        }
    }
    let readme = page(&read(&root.join("README.md"))?, Path::new("README.md"));
    write(&pages.join("index.md"), &readme)?;
    let reference = reference(root, &pages)?;
    // It has been copied with the others.
    let summary = read(&pages.join("SUMMARY.md"))?;
    write(&pages.join("SUMMARY.md"), &(summary + &reference))?;
    done(Command::new("mdbook").arg("build").arg(&site))?;
    println!("{}", site.join("book/index.html").display());
    Ok(())
}

/// A page whose links lead to other pages of the site, of one that is at `path` in the tree.
fn page(text: &str, path: &Path) -> String {
    let mut page = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("](") {
        let Some((target, after)) = behind.split_once(')') else {
            break;
        };
        let Some(start) = opening(before) else {
            page.push_str(before);
            page.push_str("](");
            rest = behind;
            continue;
        };
        match led(target, path) {
            Some(target) => page.push_str(&format!("{before}]({target})")),
            None => {
                page.push_str(&before[..start]);
                page.push_str(&before[start + 1..]);
            }
        }
        rest = after;
    }
    page.push_str(rest);
    page
}

/// Where the bracket opens that ends here.
fn opening(before: &str) -> Option<usize> {
    let mut depth = 1;
    let found = before.char_indices().rev().find(|(_, letter)| {
        depth += match letter {
            ']' => 1,
            '[' => -1,
            _ => 0,
        };
        depth == 0
    });
    found.map(|(at, _)| at)
}

/// What a link of the page at `path` is on the site; nothing if it leads to what is not there.
fn led(target: &str, path: &Path) -> Option<String> {
    if target.contains("://") || target.starts_with('#') {
        return Some(target.to_owned());
    }
    let (file, part) = match target.split_once('#') {
        Some((file, part)) => (file, format!("#{part}")),
        None => (target, String::new()),
    };
    let mut whole = PathBuf::new();
    for component in path.parent()?.join(file).components() {
        match component {
            Component::ParentDir => drop(whole.pop()),
            other => whole.push(other),
        }
    }
    if whole == Path::new("README.md") {
        let up = path.components().count().saturating_sub(2);
        return Some(format!("{}index.md{part}", "../".repeat(up)));
    }
    let on_site = whole.strip_prefix("docs").ok()?;
    // The README is one folder above the others.
    match path.starts_with("docs") {
        true => Some(target.to_owned()),
        false => Some(format!("{}{part}", on_site.display())),
    }
}

/// Writes what each command says of itself, and returns their lines of the summary.
fn reference(root: &Path, pages: &Path) -> Outcome<String> {
    let program = built(root)?;
    let manuals = root.join("target/site/man");
    make_dir(&manuals)?;
    output(Command::new(&program).arg("man").arg(&manuals))?;
    let folder = pages.join("reference");
    make_dir(&folder)?;
    let mut lines = String::from("\n# Reference\n\n");
    let manuals = files_below(&manuals)?;
    let names = manuals.iter().filter_map(|manual| manual.file_stem());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    // A command comes before those that are parts of it.
    names.sort();
    for name in names {
        // A manual's name has dashes in the place of blanks.
        let words: Vec<&str> = name.split('-').collect();
        let mut help = Command::new(&program);
        // As wide as the site's pages are.
        help.args(&words[1..]).arg("--help").env("COLUMNS", "80");
        let help = output(&mut help)?;
        let title = words.join(" ");
        let text = format!("# {title}\n\n```text\n{}\n```\n", help.trim_end());
        write(&folder.join(format!("{name}.md")), &text)?;
        let depth = "    ".repeat(words.len().saturating_sub(2));
        lines.push_str(&format!("{depth}- [{title}](reference/{name}.md)\n"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_the_site_or_are_text() {
        let of_docs = |text| page(text, Path::new("docs/protocols/home.md"));
        assert_eq!(of_docs("a [b](homeless.md#c) d"), "a [b](homeless.md#c) d");
        assert_eq!(of_docs("![p](../images/p.png)"), "![p](../images/p.png)");
        assert_eq!(
            of_docs("in [`a[0]`](../../cluster/x.rs), too"),
            "in `a[0]`, too"
        );
        assert_eq!(
            of_docs("[all](../../README.md#work)"),
            "[all](../index.md#work)"
        );
        assert_eq!(
            of_docs("[rust](https://rust-lang.org)"),
            "[rust](https://rust-lang.org)"
        );
        let of_readme = |text| page(text, Path::new("README.md"));
        assert_eq!(of_readme("[guide](docs/guide.md#a)"), "[guide](guide.md#a)");
        assert_eq!(of_readme("[how](ARCHITECTURE.md) it"), "how it");
    }
}
