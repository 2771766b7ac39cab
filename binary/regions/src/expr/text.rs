//! The textual form of expressions: prefix notation in parentheses, such as
//! `(/ (load4 (+ data 24)) threads)`.

use super::{ChunkEnd, Expr, Leaf, Op};
use crate::model::LoopId;
use std::fmt;
use std::str::FromStr;

/// Deepest nesting that is read: what is deeper was not written by us.
const DEPTH_MAX: usize = 400;

/// Why text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no expression: {why} at byte {at}", text.escape_debug())]
pub struct ExprError {
    /// The beginning of what was read.
    pub text: String,
    /// What is wrong.
    pub why: &'static str,
    /// Where.
    pub at: usize,
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Const(value) => write!(f, "{value}"),
            Self::Leaf(leaf) => leaf.fmt(f),
            Self::Load {
                address,
                bytes,
                signed,
            } => {
                let name = if *signed { "load" } else { "loadu" };
                write!(f, "({name}{bytes} {address})")
            }
            Self::Op(op, left, right) => write!(f, "({} {left} {right})", op.name()),
            Self::Select(condition, yes, no) => write!(f, "(if {condition} {yes} {no})"),
        }
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.write_str("data"),
            Self::Module(offset) => write!(f, "module+{offset:#x}"),
            Self::Threads => f.write_str("threads"),
            Self::Thread => f.write_str("thread"),
            Self::Iteration(LoopId(number)) => write!(f, "i{number}"),
            Self::Chunk(ChunkEnd::Start, call) => write!(f, "chunk.start@{call:#x}"),
            Self::Chunk(ChunkEnd::End, call) => write!(f, "chunk.end@{call:#x}"),
            Self::Argument(number) => write!(f, "argument{number}"),
            Self::ThreadStatic => f.write_str("tls"),
        }
    }
}

impl From<Expr> for String {
    fn from(expr: Expr) -> Self {
        expr.to_string()
    }
}

impl TryFrom<String> for Expr {
    type Error = ExprError;

    fn try_from(text: String) -> Result<Self, ExprError> {
        text.parse()
    }
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        let mut reading = Reading { text, at: 0 };
        let expr = reading.expr(0)?;
        reading.blanks();
        if reading.at < text.len() {
            return Err(reading.error("something follows"));
        }
        Ok(expr)
    }
}

struct Reading<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reading<'a> {
    fn error(&self, why: &'static str) -> ExprError {
        ExprError {
            text: self.text.chars().take(60).collect(),
            why,
            at: self.at,
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, sign: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(sign);
        self.at += usize::from(found) * sign.len_utf8();
        found
    }

    fn word(&mut self) -> &'a str {
        self.blanks();
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_whitespace() || c == '(' || c == ')')
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn expr(&mut self, depth: usize) -> Result<Expr, ExprError> {
        if depth > DEPTH_MAX {
            return Err(self.error("it is nested too deeply"));
        }
        if !self.takes('(') {
            let start = self.at;
            let word = self.word();
            return atom(word).ok_or_else(|| {
                self.at = start;
                self.error("neither a number nor a known name")
            });
        }
        let name = self.word();
        let expr = if name == "if" {
            Expr::Select(
                Box::new(self.expr(depth + 1)?),
                Box::new(self.expr(depth + 1)?),
                Box::new(self.expr(depth + 1)?),
            )
        } else if let Some((bytes, signed)) = load(name) {
            Expr::load(self.expr(depth + 1)?, bytes, signed)
        } else if let Some((op, _)) = Op::NAMES.iter().find(|(_, known)| *known == name) {
            let left = self.expr(depth + 1)?;
            Expr::Op(*op, Box::new(left), Box::new(self.expr(depth + 1)?))
        } else {
            return Err(self.error("not the name of an operation before this"));
        };
        if !self.takes(')') {
            return Err(self.error("`)` is missing"));
        }
        Ok(expr)
    }
}

fn load(name: &str) -> Option<(u8, bool)> {
    let (rest, signed) = match name.strip_prefix("loadu") {
        Some(rest) => (rest, false),
        None => (name.strip_prefix("load")?, true),
    };
    let bytes = rest.parse().ok()?;
    matches!(bytes, 1 | 2 | 4 | 8).then_some((bytes, signed))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn atom(word: &str) -> Option<Expr> {
    let leaf = match word {
        "data" => Leaf::Data,
        "threads" => Leaf::Threads,
        "thread" => Leaf::Thread,
        "tls" => Leaf::ThreadStatic,
        _ => {
            if let Ok(value) = word.parse() {
                return Some(Expr::Const(value));
            }
            if let Some(offset) = word.strip_prefix("module+") {
                Leaf::Module(hexadecimal(offset)?)
            } else if let Some(call) = word.strip_prefix("chunk.start@") {
                Leaf::Chunk(ChunkEnd::Start, hexadecimal(call)?)
            } else if let Some(call) = word.strip_prefix("chunk.end@") {
                Leaf::Chunk(ChunkEnd::End, hexadecimal(call)?)
            } else if let Some(number) = word.strip_prefix("argument") {
                Leaf::Argument(number.parse().ok()?)
            } else {
                Leaf::Iteration(LoopId(word.strip_prefix('i')?.parse().ok()?))
            }
        }
    };
    Some(Expr::Leaf(leaf))
}
