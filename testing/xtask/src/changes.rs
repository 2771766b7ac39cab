//! The changes that the tutorial shows: after the name of a file, lines that go and lines that come.
//!
//! The test of the tutorial includes this file, so that it tries what the pictures show.

/// The `source` of the example `name`, with the change that `page` shows.
pub(crate) fn changed(page: &str, name: &str, source: &str) -> Result<String, String> {
    let block = page
        .split_once(&format!("```diff {name}\n"))
        .and_then(|(_, behind)| behind.split_once("```"))
        .map(|(block, _)| block)
        .ok_or_else(|| format!("the tutorial shows no change of {name}"))?;
    // Lines that follow each other go together.
    let mut pairs: Vec<[String; 2]> = Vec::new();
    for line in block.lines() {
        let (goes, text) = match (line.strip_prefix('-'), line.strip_prefix('+')) {
            (Some(text), _) => (true, text),
            (_, Some(text)) => (false, text),
            _ => return Err(format!("{name}: this line neither goes nor comes: {line}")),
        };
        if goes && pairs.last().is_none_or(|[_, come]| !come.is_empty()) {
            pairs.push(Default::default());
        }
        let pair = pairs.last_mut();
        let pair = pair.ok_or_else(|| format!("{name}: {line} comes where nothing goes"))?;
        pair[usize::from(!goes)].push_str(&format!("{text}\n"));
    }
    let mut source = source.to_owned();
    for [goes, comes] in pairs {
        if source.matches(&goes).count() != 1 {
            return Err(format!("{name} does not have these lines once:\n{goes}"));
        }
        source = source.replace(&goes, &comes);
    }
    Ok(source)
}
