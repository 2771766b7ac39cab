//! What C, C++ and Fortran have in common, as far as regions need it: statements, loops,
//! expressions. Lowering makes it from a syntax tree, analysis reads it.

/// A part of one of a file's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// Which text: 0 is the file, others are expanded macros.
    pub(crate) text: u32,
    /// First byte.
    pub(crate) start: u32,
    /// Byte behind the last.
    pub(crate) end: u32,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    /// What it is.
    pub(crate) kind: ExprKind,
    /// Where it stands.
    pub(crate) span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// A whole number.
    Integer(i64),
    /// A name.
    Name(String),
    /// Parts that are reached from an object: `a.b`, `a->b`, `a%b`, with the sign between.
    Member(Box<Expr>, &'static str, String),
    /// An element: the indices of one pair of brackets, or of Fortran's parentheses.
    Subscript(Box<Expr>, Vec<Expr>),
    /// A call; Fortran's arrays as long as they are not known to be such.
    Call(Box<Expr>, Vec<Expr>),
    /// Sign, negation.
    Unary(Unary, Box<Expr>),
    /// Two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// An assignment, with the operation of a compound one.
    Assign(Option<Binary>, Box<Expr>, Box<Expr>),
    /// `++` (1) or `--` (-1).
    Update(i64, Box<Expr>),
    /// A condition with two values.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A cast: changes no affine form of interest.
    Cast(Box<Expr>),
    /// `*p`.
    Dereference(Box<Expr>),
    /// `&x`.
    AddressOf(Box<Expr>),
    /// Fortran's `from:to:step`, or `:`.
    Section(Vec<Expr>),
    /// Several in order: comma expressions, initialisers.
    Several(Vec<Expr>),
    /// Statements inside an expression: bodies of lambdas.
    Statements(Vec<Stmt>),
    /// Nothing that matters: strings, numbers that are not whole, what is too deep.
    Other,
}

/// Operations on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    /// Plus.
    Plus,
    /// Minus.
    Minus,
    /// Any other.
    Other,
}

/// Operations on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// Remainder.
    Remainder,
    /// Bits to the left.
    ShiftLeft,
    /// Bits to the right.
    ShiftRight,
    /// Power (Fortran).
    Power,
    /// Comparison, by its sign in C.
    Compare(&'static str),
    /// Any other.
    Other,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    /// What it is.
    pub(crate) kind: StmtKind,
    /// Where it stands.
    pub(crate) span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    /// Several, with declarations of their own.
    Block(Vec<Stmt>),
    /// A loop.
    Loop(Box<Loop>),
    /// Parts that are executed or not, after what is always evaluated.
    Choice(Vec<Expr>, Vec<Stmt>),
    /// An expression, or several in order.
    Expr(Expr),
    /// Declarations.
    Declare(Vec<Declaration>),
    /// A directive (its number) with what it applies to.
    Directive(usize, Vec<Stmt>),
}

/// A loop.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// What stands in its head.
    pub(crate) header: Header,
    /// What it repeats.
    pub(crate) body: Vec<Stmt>,
}

/// Heads of loops.
#[derive(Clone, Debug)]
pub(crate) enum Header {
    /// C's `for`.
    For {
        /// Declarations in its first part.
        declared: Vec<Declaration>,
        /// Its first part, if it is an expression.
        first: Option<Expr>,
        /// Its condition.
        condition: Option<Expr>,
        /// Its third part.
        update: Option<Expr>,
    },
    /// Fortran's `do`.
    Do {
        /// Its variable.
        variable: String,
        /// First value.
        from: Expr,
        /// Last value.
        to: Expr,
        /// Step, if it is written.
        step: Option<Expr>,
    },
    /// `for (x : container)`.
    Range(Vec<Declaration>, Expr),
    /// `while`, `do while`, endless: what decides.
    While(Option<Expr>),
}

/// A declared variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declaration {
    /// Its name; lower case in Fortran.
    pub(crate) name: String,
    /// Its type as written, without what belongs to this variable alone.
    pub(crate) ty: String,
    /// Dimensions as written, in the order in which memory is laid out, slowest first.
    pub(crate) dimensions: Vec<String>,
    /// Pointers before an element is reached.
    pub(crate) pointers: u32,
    /// Whether its value cannot change.
    pub(crate) constant: bool,
    /// First value.
    pub(crate) value: Option<Expr>,
    /// Where it stands.
    pub(crate) span: Span,
}

/// A function, subroutine or program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its parameters, and in Fortran all it declares.
    pub(crate) declared: Vec<Declaration>,
    /// Fortran: the type of names that are not declared, by first letter.
    pub(crate) implicit: Vec<(char, char, String)>,
    /// What it does.
    pub(crate) body: Vec<Stmt>,
}

/// A file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    /// Declared outside functions (in Fortran: in modules).
    pub(crate) globals: Vec<Declaration>,
    /// Names for types: name, type, dimensions, pointers.
    pub(crate) types: Vec<Declaration>,
    /// Its functions, nested ones too, in order.
    pub(crate) functions: Vec<Function>,
    /// Names that are functions (Fortran: `external`, statement functions).
    pub(crate) procedures: Vec<String>,
}

impl Expr {
    /// The expression without parentheses that mean nothing and casts.
    pub(crate) fn plain(&self) -> &Self {
        match &self.kind {
            ExprKind::Cast(inner) => inner.plain(),
            _ => self,
        }
    }

    /// Calls `visit` with the expressions directly inside.
    pub(crate) fn children<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        match &self.kind {
            ExprKind::Member(inner, ..)
            | ExprKind::Unary(_, inner)
            | ExprKind::Update(_, inner)
            | ExprKind::Cast(inner)
            | ExprKind::Dereference(inner)
            | ExprKind::AddressOf(inner) => visit(inner),
            ExprKind::Subscript(base, more) | ExprKind::Call(base, more) => {
                visit(base);
                more.iter().for_each(visit);
            }
            ExprKind::Binary(_, left, right) | ExprKind::Assign(_, left, right) => {
                visit(left);
                visit(right);
            }
            ExprKind::Conditional(condition, yes, no) => {
                visit(condition);
                visit(yes);
                visit(no);
            }
            ExprKind::Section(parts) | ExprKind::Several(parts) => parts.iter().for_each(visit),
            ExprKind::Integer(_)
            | ExprKind::Name(_)
            | ExprKind::Statements(_)
            | ExprKind::Other => {}
        }
    }
}
