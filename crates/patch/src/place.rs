//! Where something lies, in words.

use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol, ReadCache, SymbolKind};
use std::fs::File;
use std::path::Path;

/// An address in the file `program` as `objdump` shows it, and the function that
/// contains it if a symbol table says so.
#[must_use]
pub fn describe(program: &Path, address: usize) -> String {
    match function(program, address as u64) {
        Some(name) => format!("{address:#x} (in {name})"),
        None => format!("{address:#x}"),
    }
}

fn function(program: &Path, address: u64) -> Option<String> {
    let content = ReadCache::new(File::open(program).ok()?);
    let file = ElfFile64::<object::Endianness, _>::parse(&content).ok()?;
    let all = || file.symbols().chain(file.dynamic_symbols());
    let mut functions = all().filter(|s| s.kind() == SymbolKind::Text && s.is_definition());
    let found = functions.find(|s| {
        let start = s.address();
        (start..start.saturating_add(s.size())).contains(&address)
    })?;
    found.name().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_an_address_inside_it() {
        let program = std::env::current_exe().unwrap();
        let bias = fathomp_sys::modules::program_bias();
        let here = a_function_is_found_by_an_address_inside_it as *const () as usize;
        let words = describe(&program, here.wrapping_sub(bias));
        assert!(words.contains("(in "), "{words}");
        assert!(words.contains("a_function_is_found"), "{words}");
        assert_eq!(describe(&program, 1), "0x1");
        assert_eq!(describe(Path::new("/nowhere"), 0x40), "0x40");
    }
}
