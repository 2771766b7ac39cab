//! The compilers that made a program, and their options as far as the program keeps them.

use fathomp_cfg::debug_units;
use gimli::constants as dw;
use object::{Object, ObjectSection};
use std::collections::BTreeSet;

/// Larger debugging information is not read.
const BYTES_MAX: u64 = 1 << 29;
/// Different compilers, or sets of options, that are named at most.
const NAMED_MAX: usize = 8;
/// Letters of each.
const LETTERS_MAX: usize = 4000;

/// What debugging information says of compilers and options; without it, the compilers alone,
/// which linkers collect in the section `.comment`.
pub(crate) fn of(data: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(data) else {
        return Vec::new();
    };
    let mut found = BTreeSet::new();
    debug_units(&file, BYTES_MAX, &mut |dwarf, unit| {
        let mut entries = unit.entries();
        let Ok(Some(root)) = entries.next_dfs() else {
            return;
        };
        let producer = root.attr_value(dw::DW_AT_producer);
        let text = producer.and_then(|value| dwarf.attr_string(unit, value).ok());
        // Assemblers say nothing of how loops were compiled.
        let text = text.map(|text| plain(&text));
        found.extend(text.filter(|text| !text.starts_with("GNU AS")));
    });
    if found.is_empty() {
        let section = file.section_by_name(".comment");
        let bytes = section.and_then(|section| section.data().ok());
        let texts = bytes.unwrap_or_default().split(|byte| *byte == 0);
        found.extend(texts.map(plain));
    }
    // Start-up code that compilers link to every program was compiled elsewhere, with other options.
    let own = |text: &str| text.contains("openmp");
    if found.iter().any(|text| own(text)) {
        found.retain(|text| own(text));
    }
    let found = found.into_iter().filter(|text| !text.is_empty());
    found.take(NAMED_MAX).collect()
}

fn plain(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let letters = text.chars().take(LETTERS_MAX);
    letters
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}
