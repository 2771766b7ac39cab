//! Grammars by the way of files.

use fathomp_embed::{Bundle, UnpackError, unpack};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use tree_sitter::Language;
use tree_sitter_language::LanguageFn;

// The build script makes them of what it has linked.
include!(concat!(env!("OUT_DIR"), "/C.rs"));
include!(concat!(env!("OUT_DIR"), "/CPP.rs"));
include!(concat!(env!("OUT_DIR"), "/FORTRAN.rs"));

/// A language that sources are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Fortran, free form.
    Fortran,
}

impl Grammar {
    /// Its file, the function there, and where it is kept once it is loaded.
    fn parts(self) -> (&'static Bundle, &'static CStr, &'static OnceLock<Language>) {
        static LOADED: [OnceLock<Language>; 3] = [const { OnceLock::new() }; 3];
        match self {
            Self::C => (&C, c"tree_sitter_c", &LOADED[0]),
            Self::Cpp => (&CPP, c"tree_sitter_cpp", &LOADED[1]),
            Self::Fortran => (&FORTRAN, c"tree_sitter_fortran", &LOADED[2]),
        }
    }
}

/// Why a grammar could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its file cannot be written.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The loader refuses it.
    #[error(
        "the grammar of the source's language cannot be loaded ({0}): please report this as a bug of fathomp"
    )]
    Loader(String),
}

/// The grammar of a language. It is loaded once, and stays.
///
/// # Errors
/// If no directory can take its file, or the loader refuses that.
pub fn language(grammar: Grammar) -> Result<Language, LoadError> {
    let (bundle, function, loaded) = grammar.parts();
    if let Some(language) = loaded.get() {
        return Ok(language.clone());
    }
    let directory = unpack(bundle)?.directory;
    let [file] = bundle.files else {
        return Err(LoadError::Loader("there is no file".to_owned()));
    };
    let language = load(&directory.join(file.name), function)?;
    Ok(loaded.get_or_init(|| language).clone())
}

fn load(path: &Path, function: &CStr) -> Result<Language, LoadError> {
    let refused = |what: String| LoadError::Loader(what);
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| refused(format!("{} holds a zero", path.display())))?;
    // SAFETY: a C string. The file is what the build script has linked of C code without
    // constructors, as its hash has shown, so loading it runs nothing.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(refused(loaders_words()));
    }
    // SAFETY: a library that is never closed, and a C string.
    let address = unsafe { libc::dlsym(library, function.as_ptr()) };
    if address.is_null() {
        return Err(refused(loaders_words()));
    }
    // SAFETY: the function of this name takes nothing and returns the grammar, as tree-sitter's
    // generator defines it; what it returns is constant and stays, since the library does.
    let function = unsafe {
        LanguageFn::from_raw(std::mem::transmute::<
            *mut libc::c_void,
            unsafe extern "C" fn() -> *const (),
        >(address))
    };
    Ok(Language::new(function))
}

/// What the loader says of the last failure in this thread.
fn loaders_words() -> String {
    // SAFETY: it has no conditions.
    let words = unsafe { libc::dlerror() };
    if words.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: a C string that is valid until this thread calls the loader again.
    let words = unsafe { CStr::from_ptr(words) };
    words.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tree_sitter::Parser;

    #[test]
    fn each_grammar_parses_its_language() {
        let sources = [
            (Grammar::C, "int main(void) { return 0; }\n"),
            (Grammar::Cpp, "template <class T> T f(T x) { return x; }\n"),
            (Grammar::Fortran, "program p\n  x = 1\nend program p\n"),
        ];
        for (grammar, source) in sources {
            let mut parser = Parser::new();
            parser.set_language(&language(grammar).unwrap()).unwrap();
            let tree = parser.parse(source, None).unwrap();
            assert!(!tree.root_node().has_error(), "{grammar:?}");
        }
    }

    #[test]
    fn what_is_no_library_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none.so");
        std::fs::write(&path, b"none").unwrap();
        let error = load(&path, c"tree_sitter_c").unwrap_err().to_string();
        assert!(error.contains("none.so"), "{error}");
    }
}
