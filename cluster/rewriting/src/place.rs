//! Where something lies, in words.

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};
use std::fs::File;
use std::path::Path;

/// An address in the file `program` as `objdump` shows it, and the function that
/// contains it if a symbol table says so.
#[must_use]
pub fn describe(program: &Path, address: usize) -> String {
    match symbol(program, address as u64, SymbolKind::Text) {
        Some((name, _)) => format!("{address:#x} (in {name})"),
        None => format!("{address:#x}"),
    }
}

/// The variable of the file `program` that contains an address, and how many bytes
/// behind its beginning, if a symbol table says so.
#[must_use]
pub fn variable(program: &Path, address: usize) -> Option<(String, u64)> {
    symbol(program, address as u64, SymbolKind::Data)
}

/// Whether an address lies in what the dynamic linker fills in when a function is
/// called for the first time.
#[must_use]
pub fn is_linkage(program: &Path, address: usize) -> bool {
    let Ok(content) = File::open(program).map(ReadCache::new) else {
        return false;
    };
    let Ok(file) = ElfFile64::<object::Endianness, _>::parse(&content) else {
        return false;
    };
    file.sections().any(|section| {
        let start = section.address();
        matches!(section.name(), Ok(".got" | ".got.plt"))
            && (start..start.saturating_add(section.size())).contains(&(address as u64))
    })
}

/// The symbol of a kind that contains an address, and the offset in it.
fn symbol(program: &Path, address: u64, kind: SymbolKind) -> Option<(String, u64)> {
    let content = ReadCache::new(File::open(program).ok()?);
    let file = ElfFile64::<object::Endianness, _>::parse(&content).ok()?;
    let all = || file.symbols().chain(file.dynamic_symbols());
    let mut symbols = all().filter(|s| s.kind() == kind && s.is_definition());
    let found = symbols.find(|s| {
        let start = s.address();
        (start..start.saturating_add(s.size())).contains(&address)
    })?;
    let name = found.name().ok()?.to_owned();
    Some((name, address - found.address()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn an_address_belongs_to_what_contains_it() {
        let program = std::env::current_exe().unwrap();
        let bias = fathomp_sys::modules::program_bias();
        let here = an_address_belongs_to_what_contains_it as *const () as usize;
        let words = describe(&program, here.wrapping_sub(bias));
        assert!(words.contains("(in "), "{words}");
        assert!(words.contains("an_address_belongs"), "{words}");
        static WORDS: [AtomicU64; 3] = [const { AtomicU64::new(7) }; 3];
        let inside = (&raw const WORDS[1]) as usize;
        let (name, offset) = variable(&program, inside.wrapping_sub(bias)).unwrap();
        assert!(name.contains("WORDS") && offset == 8, "{name} {offset}");
        assert_eq!(variable(&program, 1), None);
        assert!(!is_linkage(&program, inside.wrapping_sub(bias)));
        let content = std::fs::read(&program).unwrap();
        let file = ElfFile64::<object::Endianness>::parse(content.as_slice()).unwrap();
        let got = file.section_by_name(".got").unwrap().address();
        assert!(is_linkage(&program, got as usize));
        assert!(!is_linkage(Path::new("/nowhere"), got as usize));
        assert_eq!(describe(&program, 1), "0x1");
        assert_eq!(describe(Path::new("/nowhere"), 0x40), "0x40");
    }
}
