//! Debug information in a file of its own, where distributions put it.

use object::{Object, ObjectSection, ReadRef};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Root of the distribution's debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Whether the file itself has line information.
pub(super) fn has_debug_info<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> bool {
    [".debug_info", ".zdebug_info"]
        .iter()
        .any(|name| file.section_by_name(name).is_some_and(|s| s.size() > 0))
}

/// Files that may hold the debug information of `file`, most likely first.
pub(super) fn candidates<'a>(
    path: &Path,
    file: &object::File<'a, impl ReadRef<'a>>,
) -> Vec<PathBuf> {
    let mut list = Vec::new();
    if let Ok(Some(id)) = file.build_id()
        && id.len() > 2
    {
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (directory, rest) = hex.split_at(2);
        list.push(Path::new(DEBUG_ROOT).join(format!(".build-id/{directory}/{rest}.debug")));
    }
    if let Ok(Some((name, _))) = file.gnu_debuglink()
        && let Some(directory) = path.parent()
    {
        let name = Path::new(OsStr::from_bytes(name));
        // A link is a plain name; anything else is not ours to follow.
        if name.components().count() == 1 && name.file_name().is_some() {
            list.push(directory.join(name));
            list.push(directory.join(".debug").join(name));
            let inside = directory.strip_prefix("/").unwrap_or(directory);
            list.push(Path::new(DEBUG_ROOT).join(inside).join(name));
        }
    }
    list.retain(|candidate| candidate != path);
    list
}

/// The file that holds what several debug files have in common, if `file`
/// (at `path`) refers to one.
pub(super) fn common_part<'a>(
    path: &Path,
    file: &object::File<'a, impl ReadRef<'a>>,
) -> Option<PathBuf> {
    let (name, _) = file.gnu_debugaltlink().ok()??;
    let name = Path::new(OsStr::from_bytes(name));
    let target = path.parent()?.join(name);
    target.is_file().then_some(target)
}
