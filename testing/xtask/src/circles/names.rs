//! What a file defines, imports and names: its own text alone, tests left out.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use syn::visit::{self, Visit};
use syn::{
    Attribute, File, ImplItemFn, Item, ItemFn, ItemMod, Meta, PatIdent, UseTree, Visibility,
};

/// A path as it is written: `["crate", "task", "Task"]`.
pub(super) type Names = Vec<String>;

/// A module as its text has it.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// Names that it defines, modules left out.
    pub(super) defines: Vec<String>,
    /// Names that it imports, and from where.
    pub(super) imports: BTreeMap<String, Import>,
    /// Modules all of whose names it imports.
    pub(super) globs: Vec<Names>,
    /// Every path in it, imports left out.
    pub(super) paths: Vec<Names>,
    /// Modules with a body here.
    pub(super) inline: Vec<(String, Self)>,
    /// Modules in files of their own, and the file if it is named.
    pub(super) files: Vec<(String, Option<String>)>,
}

/// An imported name.
#[derive(Clone, Debug)]
pub(super) struct Import {
    /// Its path.
    pub(super) path: Names,
    /// Others may take it from here: it is only handed on, unless it is named as well.
    pub(super) handed_on: bool,
}

impl Text {
    /// What stands in that file.
    pub(super) fn of(file: &File) -> Self {
        let mut reader = Reader::default();
        reader.visit_file(file);
        reader.text
    }
}

/// Goes through a file.
#[derive(Default)]
struct Reader {
    text: Text,
    /// Of the function that it is in.
    variables: BTreeSet<String>,
}

impl Reader {
    fn import(&mut self, tree: &UseTree, before: &[String], handed_on: bool) {
        let mut path = before.to_vec();
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.import(&step.tree, &path, handed_on);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, &path, handed_on);
                }
            }
            UseTree::Glob(_) => self.text.globs.push(path),
            UseTree::Name(name) => {
                if name.ident != "self" {
                    path.push(name.ident.to_string());
                }
                if let Some(own) = path.last().cloned() {
                    self.text.imports.insert(own, Import { path, handed_on });
                }
            }
            UseTree::Rename(name) => {
                if name.ident != "self" {
                    path.push(name.ident.to_string());
                }
                let own = match name.rename.to_string() {
                    // It has no name, but is imported.
                    own if own == "_" => format!("_ {}", path.join("::")),
                    own => own,
                };
                self.text.imports.insert(own, Import { path, handed_on });
            }
        }
    }

    /// A function's body, in which the names of variables stand for these.
    fn body(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = mem::take(&mut self.variables);
        let before = self.text.paths.len();
        visit(self);
        let inside = self.text.paths.split_off(before);
        let variables = mem::replace(&mut self.variables, outer);
        let named = |path: &Names| !matches!(&path[..], [one] if variables.contains(one));
        self.text.paths.extend(inside.into_iter().filter(named));
    }

    /// Paths in the arguments of a macro, which has no syntax of its own to go by.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Names = Vec::new();
        let mut colons = 0;
        for tree in tokens {
            match tree {
                TokenTree::Ident(name) if path.is_empty() || colons == 2 => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.text.paths.extend(taken(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.text.paths.extend(taken(&mut path));
    }
}

/// The path, if there is any.
fn taken(path: &mut Names) -> Option<Names> {
    (!path.is_empty()).then(|| mem::take(path))
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a Item) {
        if is_test(attributes(item)) {
            return;
        }
        let name = match item {
            Item::Const(one) => Some(&one.ident),
            Item::Enum(one) => Some(&one.ident),
            Item::Fn(one) => Some(&one.sig.ident),
            Item::Macro(one) => one.ident.as_ref(),
            Item::Static(one) => Some(&one.ident),
            Item::Struct(one) => Some(&one.ident),
            Item::Trait(one) => Some(&one.ident),
            Item::Type(one) => Some(&one.ident),
            Item::Union(one) => Some(&one.ident),
            _ => None,
        };
        self.text.defines.extend(name.map(ToString::to_string));
        if let Item::Use(one) = item {
            let handed_on = !matches!(one.vis, Visibility::Inherited);
            self.import(&one.tree, &[], handed_on);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        let name = module.ident.to_string();
        let Some((_, items)) = &module.content else {
            self.text.files.push((name, named_file(&module.attrs)));
            return;
        };
        let mut inner = Self::default();
        for item in items {
            inner.visit_item(item);
        }
        self.text.inline.push((name, inner.text));
    }

    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.body(|reader| visit::visit_item_fn(reader, function));
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        if !is_test(&function.attrs) {
            self.body(|reader| visit::visit_impl_item_fn(reader, function));
        }
    }

    fn visit_pat_ident(&mut self, variable: &'a PatIdent) {
        self.variables.insert(variable.ident.to_string());
        visit::visit_pat_ident(self, variable);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names = path.segments.iter().map(|step| step.ident.to_string());
        self.text.paths.push(names.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    // Attributes name macros, and documentation links both ways.
    fn visit_attribute(&mut self, _: &'a Attribute) {}
}

/// Only compiled for tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && names_test(list.tokens.clone()),
        Meta::NameValue(_) => false,
    })
}

/// `test` stands in that condition, and `not` does not.
fn names_test(condition: TokenStream) -> bool {
    let text = condition.to_string();
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| word == "test") && !text.contains("not")
}

/// The file that `#[path = "..."]` names.
fn named_file(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(literal) => match &literal.lit {
                    syn::Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(one) => &one.attrs,
        Item::Enum(one) => &one.attrs,
        Item::ExternCrate(one) => &one.attrs,
        Item::Fn(one) => &one.attrs,
        Item::ForeignMod(one) => &one.attrs,
        Item::Impl(one) => &one.attrs,
        Item::Macro(one) => &one.attrs,
        Item::Mod(one) => &one.attrs,
        Item::Static(one) => &one.attrs,
        Item::Struct(one) => &one.attrs,
        Item::Trait(one) => &one.attrs,
        Item::TraitAlias(one) => &one.attrs,
        Item::Type(one) => &one.attrs,
        Item::Union(one) => &one.attrs,
        Item::Use(one) => &one.attrs,
        _ => &[],
    }
}
