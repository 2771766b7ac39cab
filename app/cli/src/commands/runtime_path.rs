//! `fathomp runtime-path`: where the runtime library lies, for `LD_PRELOAD`
//! and for scripts that start programs themselves.

use crate::console::Console;
use crate::failure::Outcome;
use serde::Serialize;

#[derive(Serialize)]
struct Paths {
    library: String,
    sha256: &'static str,
}

pub(super) fn runtime_path(console: Console) -> Outcome {
    let paths = Paths {
        library: fathomp_runtime::unpack()?.library.display().to_string(),
        sha256: fathomp_runtime::SHA256,
    };
    console.result("fathomp.runtime-path", &paths, || {
        format!("{}\n", paths.library)
    })?;
    Ok(0)
}
