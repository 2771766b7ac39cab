//! What a page quotes of the command's answers, compared with what the command prints.
//!
//! Two texts have the same form if they have the same words: numbers, with their units, and places
//! may differ.

/// A run that others disturbed is told of in other words.
const DISTURBED: [&str; 3] = ["other programs", "Other programs", "pace of the processors"];
/// What a verdict may be, which depends on the times.
const VERDICTS: [&str; 4] = [
    "faster",
    "slower",
    "no difference seen",
    "little difference",
];
const UNITS: [&str; 7] = ["s", "ms", "µs", "ns", "%", "MiB", "GB/s"];

/// Whether all that the page quotes is in what was `said`, unless that was disturbed.
pub(super) fn hold(page: &str, said: &str) -> Result<(), String> {
    if DISTURBED.iter().any(|words| said.contains(words)) {
        return Ok(());
    }
    let all = form(said);
    let quotes = quotes(page);
    assert!(!quotes.is_empty(), "nothing is quoted:\n{page}");
    match quotes.iter().find(|quote| !all.contains(&form(quote))) {
        Some(quote) => Err(format!(
            "this is not printed any more: {quote}\nas {}\nbut:\n{said}",
            form(quote)
        )),
        None => Ok(()),
    }
}

/// Sentences and rows of tables in the indented blocks of a page, without commands.
fn quotes(page: &str) -> Vec<String> {
    let mut quotes = Vec::new();
    let mut fenced = false;
    let mut paragraph: Vec<&str> = Vec::new();
    for line in page.lines().chain([""]) {
        fenced ^= line.starts_with("```");
        let line = line
            .strip_prefix("    ")
            .filter(|line| !fenced && !is_command(line));
        match line.filter(|line| *line != "...") {
            Some(line) => paragraph.push(line),
            // Without a line there is a blank one, a command, or none of the block.
            None => quotes.extend(parts(&std::mem::take(&mut paragraph))),
        }
    }
    quotes
}

fn is_command(line: &str) -> bool {
    let starts = ["gcc ", "mpicc ", "mpirun ", "fathomp "];
    starts.iter().any(|start| line.starts_with(start))
}

/// A text over several lines is one quote; rows of a table, and what the command says line by line, are one each.
fn parts(paragraph: &[&str]) -> Vec<String> {
    let is_text = paragraph.last().is_some_and(|line| line.ends_with('.'));
    if is_text && !paragraph[0].starts_with("fathomp: ") {
        return vec![paragraph.join(" ")];
    }
    paragraph.iter().map(|&line| line.to_owned()).collect()
}

/// The words of a text with a sign in the place of each number; it begins and ends with a blank.
fn form(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|letter: char| ".,;:()".contains(letter));
        let after_number = words.last() == Some(&"#");
        match word.contains(|letter: char| letter.is_ascii_digit()) {
            // Thousands have a blank between them.
            true if !after_number => words.push("#"),
            true => {}
            false if after_number && UNITS.contains(&word) => {}
            false if word.is_empty() || word == "fathomp" => {}
            false => words.push(word),
        }
    }
    let mut form = format!(" {} ", words.join(" "));
    form = form.replace(" # and # runs ", " # runs each ");
    form = form
        .replace(" as slow ", " as fast ")
        .replace(" threads ", " thread ");
    for verdict in VERDICTS {
        form = form.replace(&format!(" {verdict} "), " VERDICT ");
    }
    form
}

/// A test of this file.
pub(super) fn are_compared_by_their_words() {
    let page = "Text.\n\n    fathomp study -- ./a\n\n    fathomp: It took 712 ms with 1 thread.\n\n    \
                after takes 0.5 times\n    as long (5 and 4 runs).\n    ...\n    Cause   before  after\n    \
                lock a.c:3  32 %  1 %\n\n```diff a.c\n-    not quoted\n```\n";
    let said = "fathomp: It took 1.2 s with 1 thread.\nafter takes 0.7 times as\nlong (5 runs each).\n\n\
                Cause before after\nlock b.c:17 3 % 0.2 %\n";
    assert_eq!(quotes(page).len(), 4, "{:?}", quotes(page));
    assert_eq!(hold(page, said), Ok(()));
    for (words, others) in [("took", "takes"), ("lock", "locks"), ("as\n", "so\n")] {
        assert!(hold(page, &said.replace(words, others)).is_err(), "{words}");
    }
    assert_eq!(hold(page, "Other programs disturbed this."), Ok(()));
}
