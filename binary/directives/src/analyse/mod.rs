//! From statements to constructs: what each directive's code contains.

mod access;
mod assigned;
mod coverage;
mod form;
mod header;
mod types;

pub(crate) use coverage::coverage;

use crate::ast::{Declaration, Expr, ExprKind, Function, Header, Loop, Stmt, StmtKind, Unit};
use crate::lower::Lowering;
use crate::text::{Prepared, directive};
use fathomp_regions::{Construct, SourceLoop};
use form::Form;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A construct, and where it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The function that it stands in, if it has a name.
    pub function: Option<String>,
    /// What it contains.
    pub construct: Construct,
}

/// A construct that is being described.
#[derive(Default)]
struct Building {
    construct: Construct,
    function: Option<String>,
    bytes: (u32, u32),
    arrays: HashMap<String, usize>,
    calls: BTreeSet<String>,
}

/// A loop around the current place.
struct EnclosingLoop {
    /// Its number in the current construct.
    index: Option<usize>,
    variable: Option<String>,
    /// Names that it changes.
    assigned: HashSet<String>,
}

/// Walks through functions.
pub(crate) struct Walker<'a> {
    path: &'a str,
    prepared: &'a Prepared,
    lowering: &'a Lowering<'a>,
    fortran: bool,
    types: HashMap<&'a str, Option<&'a Declaration>>,
    procedures: HashSet<&'a str>,
    scopes: Vec<HashMap<String, Declaration>>,
    implicit: &'a [(char, char, String)],
    /// What names are worth here.
    values: HashMap<String, Form>,
    building: Vec<Building>,
    current: Option<usize>,
    loops: Vec<EnclosingLoop>,
    conditional: bool,
    /// Loops of the nest that follows that a directive divides.
    divided: u64,
    function: Option<String>,
}

/// Describes all constructs of a file.
pub(crate) fn constructs(
    path: &str,
    prepared: &Prepared,
    lowering: &Lowering<'_>,
    unit: &Unit,
    fortran: bool,
) -> Vec<Found> {
    let mut walker = Walker {
        path,
        prepared,
        lowering,
        fortran,
        types: HashMap::new(),
        procedures: unit.procedures.iter().map(String::as_str).collect(),
        scopes: vec![HashMap::new()],
        implicit: &[],
        values: HashMap::new(),
        building: Vec::new(),
        current: None,
        loops: Vec::new(),
        conditional: false,
        divided: 0,
        function: None,
    };
    for named in &unit.types {
        // Members of the same name and different types say nothing.
        let entry = walker.types.entry(&named.name);
        let same = |known: &Declaration| known.ty == named.ty;
        entry
            .and_modify(|known| *known = known.filter(|known| same(known)))
            .or_insert(Some(named));
    }
    walker.globals(&unit.globals);
    for function in &unit.functions {
        walker.walk(function);
    }
    walker.finish()
}

impl<'a> Walker<'a> {
    fn globals(&mut self, globals: &[Declaration]) {
        let mut next = 0;
        for one in globals {
            if let Some(value) = one.value.as_ref().map(|value| self.form(value)) {
                next = value.value().unwrap_or(i64::MIN);
            }
            if one.constant && (one.ty == "enum" || one.value.is_some()) && next != i64::MIN {
                self.values.insert(one.name.clone(), Form::constant(next));
                next = next.saturating_add(1);
            }
            self.scopes[0].insert(one.name.clone(), one.clone());
        }
    }

    fn walk(&mut self, function: &'a Function) {
        let before = self.values.clone();
        self.function.clone_from(&function.name);
        self.implicit = &function.implicit;
        self.scopes.push(HashMap::new());
        self.declare(&function.declared);
        self.block(&function.body);
        self.scopes.pop();
        self.values = before;
        self.function = None;
    }

    fn declare(&mut self, declared: &[Declaration]) {
        for one in declared {
            match &one.value {
                Some(value) if one.dimensions.is_empty() => {
                    let form = self.form(value);
                    self.values.insert(one.name.clone(), form);
                }
                _ => {
                    self.values.remove(&one.name);
                }
            }
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(one.name.clone(), one.clone());
            }
        }
    }

    /// Statements with declarations of their own.
    fn block(&mut self, body: &[Stmt]) {
        self.scopes.push(HashMap::new());
        for stmt in body {
            self.statement(stmt);
        }
        for name in self.scopes.pop().unwrap_or_default().into_keys() {
            self.values.remove(&name);
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        let line = self.prepared.lines.line(stmt.span.start);
        match &stmt.kind {
            StmtKind::Block(body) => self.block(body),
            StmtKind::Loop(one) => self.loop_statement(stmt, one),
            StmtKind::Choice(conditions, parts) => {
                self.note(conditions, line);
                self.choice(parts);
            }
            StmtKind::Expr(expr) => {
                self.note([expr], line);
                self.follow(expr);
            }
            StmtKind::Declare(declared) => {
                self.note(declared.iter().filter_map(|one| one.value.as_ref()), line);
                self.declare(declared);
            }
            StmtKind::Directive(number, body) => self.directive(*number, stmt, body),
        }
    }

    /// What may be executed or not: what it changes has no known value behind it.
    fn choice(&mut self, parts: &[Stmt]) {
        let conditional = std::mem::replace(&mut self.conditional, true);
        for part in parts {
            let values = self.values.clone();
            self.statement(part);
            self.values = values;
        }
        self.conditional = conditional;
        for name in assigned::names(parts, self.fortran) {
            self.values.remove(&name);
        }
    }

    /// Follows the values of variables through an assignment.
    fn follow(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Assign(None, target, value) => {
                self.follow(value);
                if let ExprKind::Name(name) = &target.kind {
                    let form = self.form(value);
                    // A sum with itself has no value of its own.
                    self.values.insert(name.clone(), form);
                }
            }
            ExprKind::Several(parts) => parts.iter().for_each(|part| self.follow(part)),
            _ => {
                for name in assigned::names_in(expr, self.fortran) {
                    self.values.remove(&name);
                }
            }
        }
    }

    fn loop_statement(&mut self, stmt: &Stmt, one: &Loop) {
        let line = self.prepared.lines.line(stmt.span.start);
        let mut changed = assigned::names(&one.body, self.fortran);
        // The head of the loop is read with what is known before it.
        if let Header::For {
            first: Some(first), ..
        } = &one.header
        {
            self.follow(first);
        }
        for name in &changed {
            self.values.remove(name);
        }
        let head = self.head(one, &changed);
        let variable = head.variable.known().cloned();
        let also = header::also_changed(&one.header, self.fortran);
        changed.extend(
            also.into_iter()
                .filter(|name| Some(name) != variable.as_ref()),
        );
        let divided = self.divided > 0;
        self.divided = self.divided.saturating_sub(1);
        self.note_head(&one.header, line);
        let index = self.current.map(|current| {
            let construct = &mut self.building[current].construct;
            let parent = self.loops.iter().rev().find_map(|around| around.index);
            construct.loops.push(SourceLoop {
                parent,
                place: self.prepared.lines.place(self.path, stmt.span.start),
                last_line: self
                    .prepared
                    .lines
                    .line(stmt.span.end.saturating_sub(1).max(stmt.span.start)),
                variable: head.variable,
                from: head.from,
                to: head.to,
                comparison: head.comparison,
                step: head.step,
                trips: head.trips,
                depends_on: head.depends_on,
                worksharing: divided,
            });
            construct.loops.len() - 1
        });
        for name in changed.iter().chain(&variable) {
            self.values.remove(name);
        }
        let mut scope = HashMap::new();
        if let Header::For { declared, .. } | Header::Range(declared, _) = &one.header {
            scope.extend(declared.iter().map(|one| (one.name.clone(), one.clone())));
        }
        self.scopes.push(scope);
        self.loops.push(EnclosingLoop {
            index,
            variable: variable.clone(),
            assigned: changed,
        });
        let conditional = std::mem::replace(&mut self.conditional, false);
        self.block(&one.body);
        self.conditional = conditional;
        self.scopes.pop();
        self.divided = 0;
        if let Some(around) = self.loops.pop() {
            for name in around.assigned.iter().chain(&variable) {
                self.values.remove(name);
            }
        }
    }

    /// What a head that is evaluated again and again accesses.
    fn note_head(&mut self, header: &Header, line: u32) {
        match header {
            Header::For {
                declared,
                first,
                condition,
                ..
            } => {
                let values = declared.iter().filter_map(|one| one.value.as_ref());
                self.note(accessing(values.chain(first).chain(condition)), line);
            }
            Header::Do { from, to, step, .. } => {
                self.note(accessing([from, to].into_iter().chain(step)), line);
            }
            Header::Range(_, over) => self.note(accessing([over]), line),
            Header::While(condition) => self.note(condition, line),
        }
    }

    fn directive(&mut self, number: usize, stmt: &Stmt, body: &[Stmt]) {
        let Some(marked) = self.prepared.directives.get(number) else {
            return self.block(body);
        };
        let name = marked.directive.name.as_str();
        let own = directive::has_own_code(name);
        let orphaned = self.current.is_none() && directive::is_worksharing(name);
        if let Some(current) = self.current {
            let inside = &mut self.building[current].construct.inside;
            inside.push(marked.directive.clone());
        }
        let divides = directive::divides_loop(name);
        let collapse = if divides { self.collapsed(number) } else { 0 };
        if !own && !orphaned {
            self.divided = self.divided.max(collapse);
            return self.block(body);
        }
        let first = marked.directive.place.line;
        let end = body.last().map_or(0, |last| last.span.end);
        let end = end.max(stmt.span.end);
        let last = self.prepared.lines.line(end.saturating_sub(1));
        let new = self.building.len();
        self.building.push(Building {
            construct: Construct {
                directive: marked.directive.clone(),
                lines: (first, last.max(marked.last_line)),
                ..Construct::default()
            },
            function: self.function.clone(),
            bytes: (marked.at, end),
            ..Building::default()
        });
        // Inside, loops around are no loops, and what depends on them does not vary.
        let values = self.values.clone();
        for (name, form) in &mut self.values {
            if form.varies() {
                *form = Form::invariant(name.clone());
            }
        }
        let current = self.current.replace(new);
        let loops = std::mem::take(&mut self.loops);
        let conditional = std::mem::replace(&mut self.conditional, false);
        self.divided = collapse;
        self.block(body);
        self.divided = 0;
        self.conditional = conditional;
        self.loops = loops;
        self.current = current;
        self.values = values;
        for name in assigned::names(body, self.fortran) {
            self.values.remove(&name);
        }
    }

    /// Loops of a nest that a directive divides.
    fn collapsed(&self, number: usize) -> u64 {
        let directive = &self.prepared.directives[number].directive;
        let clause = directive.clauses.iter().find(|one| one.name == "collapse");
        let loops = clause.and_then(|clause| self.prepared.macros.evaluate(&clause.argument));
        loops
            .and_then(|loops| u64::try_from(loops).ok())
            .unwrap_or(1)
            .max(1)
    }

    fn innermost(&self) -> Option<usize> {
        self.loops.iter().rev().find_map(|around| around.index)
    }

    /// The declaration of a name, or of the last member of a path.
    fn declaration(&self, name: &str) -> Option<Declaration> {
        if let Some(at) = name.rfind(['.', '>', '%']) {
            let member = format!(".{}", &name[at + 1..]);
            return self.types.get(member.as_str()).copied().flatten().cloned();
        }
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.get(name)).cloned()
    }

    /// The value of a name that is a constant of the file.
    fn constant(&self, name: &str) -> Option<i64> {
        let declared = self
            .scopes
            .iter()
            .skip(1)
            .any(|scope| scope.contains_key(name));
        if declared && !self.fortran {
            return self.values.get(name).and_then(Form::value);
        }
        let known = self.values.get(name).and_then(Form::value);
        known.or_else(|| self.prepared.macros.value(name))
    }

    /// Whether what looks like a call is an element of an array (Fortran).
    fn is_array(&self, function: &Expr) -> bool {
        if !self.fortran {
            return false;
        }
        match &function.kind {
            ExprKind::Name(name) => {
                !self.procedures.contains(name.as_str()) && self.is_whole_array(name)
            }
            // Type-bound functions are rare, components that are arrays are not.
            ExprKind::Member(..) => true,
            ExprKind::Call(inner, _) => self.is_array(inner),
            _ => false,
        }
    }

    /// Whether a name is declared with dimensions, or elements of it are assigned to.
    fn is_whole_array(&self, name: &str) -> bool {
        self.declaration(name)
            .is_some_and(|found| !found.dimensions.is_empty())
    }

    fn implicit_bytes(&self, name: &str) -> Option<u32> {
        let first = name.chars().next()?;
        let rule = self
            .implicit
            .iter()
            .find(|(from, to, _)| (*from..=*to).contains(&first));
        let ty = match rule {
            Some((.., ty)) => ty.clone(),
            None if ('i'..='n').contains(&first) => "integer".to_owned(),
            None => "real".to_owned(),
        };
        self.resolve(&Declaration {
            ty,
            ..Declaration::default()
        })
        .0
    }

    /// Puts directives that apply to nothing into their constructs, and all in order.
    fn finish(mut self) -> Vec<Found> {
        for marked in &self.prepared.directives {
            let name = &marked.directive.name;
            let alone = directive::applies(&marked.directive) == directive::Applies::Alone;
            if !alone || name.is_empty() || name.starts_with("end") || name.starts_with("declare") {
                continue;
            }
            let around = self
                .building
                .iter_mut()
                .rev()
                .find(|one| (one.bytes.0..one.bytes.1).contains(&marked.at));
            if let Some(around) = around {
                around.construct.inside.push(marked.directive.clone());
            }
        }
        let found = self.building.into_iter().map(|one| {
            let mut construct = one.construct;
            construct
                .inside
                .sort_by_key(|inner| (inner.place.line, inner.place.column));
            construct.calls = one.calls.into_iter().collect();
            Found {
                function: one.function,
                construct,
            }
        });
        let mut found: Vec<Found> = found.collect();
        found.sort_by_key(|one| one.construct.directive.place.line);
        found
    }
}

/// Expressions of a head that access memory or call; plain counting is no work.
fn accessing<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<&'e Expr> {
    fn has_access(expr: &Expr) -> bool {
        if matches!(
            expr.kind,
            ExprKind::Subscript(..) | ExprKind::Call(..) | ExprKind::Dereference(_)
        ) {
            return true;
        }
        let mut found = false;
        expr.children(&mut |part| found |= has_access(part));
        found
    }
    exprs.into_iter().filter(|expr| has_access(expr)).collect()
}
