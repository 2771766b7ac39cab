//! The modules of a crate, and which file defines what a path names.

use super::names::{Names, Text};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names handed on by names handed on, and so on: no more than these are followed.
const DEPTH_MAX: usize = 16;

/// A crate's modules; the first is its root.
#[derive(Debug)]
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
}

/// A module.
#[derive(Debug)]
pub(super) struct Module {
    /// From the root of the crate to it.
    path: Names,
    /// The module whose file it stands in: itself, unless it has a body in another's.
    file: usize,
    text: Text,
    parent: usize,
    children: BTreeMap<String, usize>,
}

impl Crate {
    /// Reads the crate whose root is that file.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let mut all = Self {
            modules: Vec::new(),
        };
        let folder = root.parent().unwrap_or(Path::new("."));
        all.read_file(root, folder, Vec::new(), 0)?;
        Ok(all)
    }

    /// A file, and those of its modules, which lie in `folder`.
    fn read_file(
        &mut self,
        file: &Path,
        folder: &Path,
        path: Names,
        parent: usize,
    ) -> Result<usize, String> {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parsed =
            syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let beside = file.parent().unwrap_or(folder).to_owned();
        self.add(Text::of(&parsed), &beside, folder, path, parent, None)
    }

    fn add(
        &mut self,
        mut text: Text,
        beside: &Path,
        folder: &Path,
        path: Names,
        parent: usize,
        file: Option<usize>,
    ) -> Result<usize, String> {
        let inline = std::mem::take(&mut text.inline);
        let files = std::mem::take(&mut text.files);
        let own = self.modules.len();
        let file = file.unwrap_or(own);
        self.modules.push(Module {
            path: path.clone(),
            file,
            text,
            parent,
            children: BTreeMap::new(),
        });
        let below = |name: &String| [&path[..], std::slice::from_ref(name)].concat();
        for (name, text) in inline {
            let inside = folder.join(&name);
            let child = self.add(text, &inside, &inside, below(&name), own, Some(file))?;
            self.modules[own].children.insert(name, child);
        }
        for (name, named) in files {
            let (file, inside) = match named {
                Some(named) => {
                    let file = beside.join(named);
                    let inside = file.parent().unwrap_or(folder).to_owned();
                    (file, inside)
                }
                None => (place_of(folder, &name), folder.join(&name)),
            };
            let child = self.read_file(&file, &inside, below(&name), own)?;
            self.modules[own].children.insert(name, child);
        }
        Ok(own)
    }

    /// The module whose file `module` stands in, from the root of the crate.
    pub(super) fn file_of(&self, module: usize) -> &[String] {
        &self.modules[self.modules[module].file].path
    }

    /// Every name that module takes from a file of the crate, and the module that defines it.
    pub(super) fn taken_by(&self, module: usize) -> Vec<(usize, String)> {
        let text = &self.modules[module].text;
        let imported = text.imports.values().filter(|import| !import.handed_on);
        let mut taken: Vec<(usize, String)> = imported
            .map(|import| &import.path)
            .chain(&text.paths)
            .filter_map(|path| self.definer(module, path, DEPTH_MAX))
            .collect();
        for glob in &text.globs {
            let found = self.module_at(module, glob, DEPTH_MAX);
            taken.extend(found.map(|module| (module, "*".to_owned())));
        }
        taken
    }

    /// The module that defines what `path` names in module `from`, and its name. None if
    /// that is a module, or nothing of this crate.
    fn definer(&self, from: usize, path: &[String], depth: usize) -> Option<(usize, String)> {
        let depth = depth.checked_sub(1)?;
        let (mut at, mut rest) = self.start(from, path)?;
        loop {
            let (name, after) = rest.split_first()?;
            let module = &self.modules[at];
            if let Some(child) = module.children.get(name) {
                (at, rest) = (*child, after);
                continue;
            }
            if module.text.defines.contains(name) {
                return Some((at, name.clone()));
            }
            if let Some(import) = module.text.imports.get(name) {
                let whole = [&import.path, after].concat();
                // Of itself, by a macro or from another crate.
                if at == from && whole == path {
                    return None;
                }
                return self.definer(at, &whole, depth);
            }
            return module.text.globs.iter().find_map(|glob| {
                let inside = self.module_at(at, glob, depth)?;
                let whole = [&["self".to_owned()], rest].concat();
                (inside != from).then(|| self.definer(inside, &whole, depth))?
            });
        }
    }

    /// The module that `path` names in module `from`.
    fn module_at(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        let (mut at, mut rest) = self.start(from, path)?;
        while let Some((name, after)) = rest.split_first() {
            if let Some(child) = self.modules[at].children.get(name) {
                (at, rest) = (*child, after);
                continue;
            }
            let import = self.modules[at].text.imports.get(name)?;
            let whole = [&import.path, after].concat();
            return self.module_at(at, &whole, depth);
        }
        Some(at)
    }

    /// Where a path begins, and what is left of it there.
    fn start<'a>(&self, from: usize, path: &'a [String]) -> Option<(usize, &'a [String])> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" | "$crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent,
            _ => return Some((from, path)),
        };
        while rest.first().is_some_and(|name| name == "super") {
            at = self.modules[at].parent;
            rest = &rest[1..];
        }
        Some((at, rest))
    }
}

/// The file of the module `name` in `folder`.
fn place_of(folder: &Path, name: &str) -> PathBuf {
    let flat = folder.join(format!("{name}.rs"));
    match flat.is_file() {
        true => flat,
        false => folder.join(name).join("mod.rs"),
    }
}
