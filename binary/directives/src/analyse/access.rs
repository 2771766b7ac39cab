//! What a statement accesses, computes and calls.

use super::Walker;
use super::form::Factor;
use crate::ast::{Binary, Expr, ExprKind, Stmt};
use fathomp_regions::{Array, SourceAccess, Statement, Subscript};

/// Longer names of what is called or accessed are cut.
const NAME_MAX: usize = 80;
/// A constant factor from this on is taken for the length of a row that was multiplied in.
const ROW_MIN: u64 = 16;

/// How an expression is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
    Both,
    /// Its address is taken.
    Address,
}

/// What is gathered of one statement.
#[derive(Default)]
struct Gathered<'e> {
    reads: Vec<SourceAccess>,
    writes: Vec<SourceAccess>,
    additions: u32,
    multiplications: u32,
    divisions: u32,
    calls: u32,
    /// Bodies of lambdas.
    inner: Vec<&'e [Stmt]>,
}

/// A path to an element.
struct Path<'e> {
    name: String,
    /// By pair of brackets.
    subscripts: Vec<&'e [Expr]>,
    /// An offset added to a pointer, which is one more subscript.
    offset: Option<&'e Expr>,
    dereferenced: bool,
}

impl Walker<'_> {
    /// Notes what expressions of one statement do; `line` is where it stands.
    pub(super) fn note<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>, line: u32) {
        let mut gathered = Gathered::default();
        for expr in exprs {
            self.gather(expr, Use::Read, false, &mut gathered);
        }
        let inner = std::mem::take(&mut gathered.inner);
        if let Some(current) = self.current {
            let mut accesses = gathered.reads;
            accesses.append(&mut gathered.writes);
            let statement = Statement {
                line,
                inside: self.innermost(),
                accesses,
                additions: gathered.additions,
                multiplications: gathered.multiplications,
                divisions: gathered.divisions,
                calls: gathered.calls,
                conditional: self.conditional,
            };
            let computes = statement.additions + statement.multiplications + statement.divisions;
            if !statement.accesses.is_empty() || computes + statement.calls > 0 {
                self.building[current].construct.statements.push(statement);
            }
        }
        for body in inner {
            self.choice(body);
        }
    }

    fn gather<'e>(
        &mut self,
        expr: &'e Expr,
        used: Use,
        in_subscript: bool,
        into: &mut Gathered<'e>,
    ) {
        let mut count = |operator: Binary| {
            if in_subscript {
                return;
            }
            match operator {
                Binary::Add | Binary::Subtract => into.additions += 1,
                Binary::Multiply | Binary::Power => into.multiplications += 1,
                Binary::Divide | Binary::Remainder => into.divisions += 1,
                _ => {}
            }
        };
        match &expr.kind {
            ExprKind::Assign(operator, target, value) => {
                operator.iter().for_each(|operator| count(*operator));
                self.gather(value, Use::Read, in_subscript, into);
                let used = if operator.is_some() {
                    Use::Both
                } else {
                    Use::Write
                };
                self.gather(target, used, in_subscript, into);
            }
            ExprKind::Update(_, target) => {
                if !matches!(target.kind, ExprKind::Name(_)) {
                    count(Binary::Add);
                }
                self.gather(target, Use::Both, in_subscript, into);
            }
            ExprKind::Binary(operator, left, right) => {
                count(*operator);
                self.gather(left, Use::Read, in_subscript, into);
                self.gather(right, Use::Read, in_subscript, into);
            }
            ExprKind::Cast(inner) => self.gather(inner, used, in_subscript, into),
            ExprKind::AddressOf(inner) => self.gather(inner, Use::Address, in_subscript, into),
            ExprKind::Statements(body) => into.inner.push(body),
            ExprKind::Name(name) if self.fortran && self.is_whole_array(name) => {
                self.access(expr, used, into);
            }
            ExprKind::Subscript(..) | ExprKind::Dereference(_) | ExprKind::Member(..) => {
                self.access(expr, used, into);
            }
            ExprKind::Call(function, arguments) => {
                if self.is_array(function) {
                    self.access(expr, used, into);
                    return;
                }
                self.call(function);
                into.calls += 1;
                if !matches!(function.kind, ExprKind::Name(_)) {
                    let mut parts = Vec::new();
                    function.children(&mut |part| parts.push(part));
                    for part in parts {
                        self.gather(part, Use::Read, true, into);
                    }
                }
                // What methods are given is mostly an index.
                let in_subscript = in_subscript || matches!(function.kind, ExprKind::Member(..));
                for argument in arguments {
                    self.gather(argument, Use::Read, in_subscript, into);
                }
            }
            _ => {
                let mut parts = Vec::new();
                expr.children(&mut |part| parts.push(part));
                for part in parts {
                    self.gather(part, Use::Read, in_subscript, into);
                }
            }
        }
    }

    fn call(&mut self, function: &Expr) {
        let mut name = self.squeezed(function);
        if let Some((at, _)) = name.char_indices().nth(NAME_MAX) {
            name.truncate(at);
        }
        if let Some(current) = self.current
            && !name.is_empty()
        {
            self.building[current].calls.insert(name);
        }
    }

    fn access<'e>(&mut self, expr: &'e Expr, used: Use, into: &mut Gathered<'e>) {
        let mut path = self.path(expr, into);
        let indices: Vec<&'e Expr> = path
            .subscripts
            .iter()
            .flat_map(|pair| pair.iter())
            .chain(path.offset)
            .collect();
        for index in &indices {
            self.gather(index, Use::Read, true, into);
        }
        let whole = self.fortran && matches!(expr.kind, ExprKind::Name(_));
        let touches = !indices.is_empty() || path.dereferenced || whole;
        let Some(current) = self.current else {
            return;
        };
        if used == Use::Address || !touches {
            return;
        }
        if let Some((at, _)) = path.name.char_indices().nth(NAME_MAX) {
            path.name.truncate(at);
        }
        let mut subscripts = Vec::new();
        for pair in &path.subscripts {
            let pair = pair.iter().map(|index| self.subscript(index));
            if self.fortran {
                subscripts.extend(pair.rev());
            } else {
                subscripts.extend(pair);
            }
        }
        subscripts.extend(path.offset.map(|offset| self.subscript(offset)));
        let array = self.array(current, &path.name, subscripts.len());
        let found = &mut self.building[current].construct.arrays[array];
        found.varying = found.varying.max(if whole {
            u32::try_from(found.dimensions.len()).unwrap_or(0)
        } else {
            varying(&subscripts)
        });
        let access = SourceAccess {
            array,
            text: self.squeezed(expr),
            writes: used == Use::Write,
            subscripts,
        };
        if used != Use::Write {
            into.reads.push(access.clone());
        }
        if used != Use::Read {
            into.writes.push(SourceAccess {
                writes: true,
                ..access
            });
        }
    }

    /// The path to an element: its name without subscripts, and these in order.
    fn path<'e>(&mut self, expr: &'e Expr, into: &mut Gathered<'e>) -> Path<'e> {
        match &expr.kind {
            ExprKind::Name(name) => Path {
                name: name.clone(),
                subscripts: Vec::new(),
                offset: None,
                dereferenced: false,
            },
            ExprKind::Subscript(base, indices) => {
                let mut path = self.path(base, into);
                path.subscripts.push(indices);
                path
            }
            ExprKind::Call(base, indices) if self.is_array(base) => {
                let mut path = self.path(base, into);
                path.subscripts.push(indices);
                path
            }
            ExprKind::Member(base, sign, field) => {
                let mut path = self.path(base, into);
                path.name.push_str(sign);
                path.name.push_str(field);
                path
            }
            ExprKind::Cast(inner) | ExprKind::AddressOf(inner) => self.path(inner, into),
            ExprKind::Dereference(inner) => {
                let mut path = match &inner.plain().kind {
                    ExprKind::Binary(Binary::Add, pointer, offset) => {
                        let mut path = self.path(pointer, into);
                        path.offset = Some(offset);
                        path
                    }
                    ExprKind::Update(_, pointer) => {
                        let mut path = self.path(pointer, into);
                        path.offset = Some(inner);
                        path
                    }
                    _ => self.path(inner, into),
                };
                path.dereferenced = true;
                path
            }
            _ => {
                self.gather(expr, Use::Read, true, into);
                Path {
                    name: self.squeezed(expr),
                    subscripts: Vec::new(),
                    offset: None,
                    dereferenced: false,
                }
            }
        }
    }

    fn subscript(&self, index: &Expr) -> Subscript {
        let text = self.squeezed(index);
        if matches!(index.kind, ExprKind::Section(_)) {
            return Subscript {
                text,
                ..Subscript::default()
            };
        }
        let form = self.form(index);
        let mut subscript = Subscript {
            text,
            irregular: form.irregular,
            ..Subscript::default()
        };
        if form.irregular {
            return subscript;
        }
        for (index, factor) in form.factors {
            match factor {
                Factor::Constant(factor) => subscript.factors.push((index, factor)),
                Factor::Symbolic(text) => subscript.symbolic.push((index, text)),
            }
        }
        if form.invariant.is_none() {
            subscript.constant = Some(form.constant);
        }
        subscript
    }

    /// The number of an array in a construct.
    fn array(&mut self, current: usize, name: &str, subscripts: usize) -> usize {
        if let Some(known) = self.building[current].arrays.get(name) {
            return *known;
        }
        let declared = self.declaration(name);
        let (element_bytes, dimensions) = match declared {
            Some(declared) => (
                self.element_bytes(&declared, subscripts),
                self.resolve(&declared).1,
            ),
            None if self.fortran => (self.implicit_bytes(name), Vec::new()),
            None => (None, Vec::new()),
        };
        let building = &mut self.building[current];
        let number = building.construct.arrays.len();
        building.construct.arrays.push(Array {
            name: name.to_owned(),
            element_bytes,
            dimensions,
            varying: 0,
        });
        building.arrays.insert(name.to_owned(), number);
        number
    }
}

/// Dimensions that vary. One whose rows were multiplied in by hand (`i * n + j`) counts
/// once for each loop with such a factor, and once for all others together.
fn varying(subscripts: &[Subscript]) -> u32 {
    let of = |subscript: &Subscript| {
        if subscript.irregular || subscript.text.contains(':') && subscript.factors.is_empty() {
            return 1;
        }
        let rows = subscript
            .factors
            .iter()
            .filter(|(_, factor)| factor.unsigned_abs() >= ROW_MIN);
        let rows = rows.count() + subscript.symbolic.len();
        let small = subscript
            .factors
            .iter()
            .any(|(_, factor)| factor.unsigned_abs() < ROW_MIN);
        (rows + usize::from(small)) as u32
    };
    subscripts.iter().map(of).sum()
}
