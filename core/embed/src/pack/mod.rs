//! What build scripts call to make files, and a module of the crate that carries them.

mod nested;

pub use nested::{Nested, static_library};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Writes `NAME.rs` into `out`, the build script's `OUT_DIR`. The crate includes it; it defines
/// the constant `NAME`, a [`crate::Bundle`] of these files: the path of each in the bundle, and
/// where it lies now.
///
/// # Errors
/// If a file cannot be read, or those made of it cannot be written.
pub fn bundle(out: &Path, name: &str, files: &[(&str, PathBuf)]) -> io::Result<()> {
    let mut hash = Sha256::new();
    let mut module = String::new();
    for (file, path) in files {
        let content = fs::read(path)?;
        hash.update(&content);
        let packed = out.join(format!("{}.packed", file.replace('/', "-")));
        fs::write(&packed, deflate(&content)?)?;
        // Writing to a string does not fail.
        let _ = writeln!(
            module,
            "        fathomp_embed::File {{\n            name: {file:?},\n            \
             packed: include_bytes!({packed:?}),\n            length: {},\n            \
             sha256: {:?},\n        }},",
            content.len(),
            <[u8; 32]>::from(Sha256::digest(&content)),
        );
    }
    let sha256 = hash.finalize().iter().fold(String::new(), |hex, byte| {
        // Nor does this.
        hex + &format!("{byte:02x}")
    });
    fs::write(
        out.join(format!("{name}.rs")),
        format!(
            "const {name}: fathomp_embed::Bundle = fathomp_embed::Bundle {{\n    \
             sha256: {sha256:?},\n    files: &[\n{module}    ],\n}};\n"
        ),
    )
}

fn deflate(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}
