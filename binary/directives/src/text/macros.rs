//! Macros of a file and constant expressions over them.

use std::cell::RefCell;
use std::collections::HashMap;

/// A macro.
#[derive(Clone, Debug)]
pub(crate) struct Macro {
    /// Names of its parameters; none if it is used without parentheses.
    pub(crate) parameters: Option<Vec<String>>,
    /// What it stands for.
    pub(crate) body: String,
}

/// The macros that a file defines.
#[derive(Debug, Default)]
pub(crate) struct Macros {
    defined: HashMap<String, Macro>,
    /// Values found so far; none while one is looked for, so that recursion ends.
    values: RefCell<HashMap<String, Option<i64>>>,
}

/// Names that are looked up behind one another before a value counts as unknown.
const DEPTH_MAX: u32 = 64;
/// Longer texts are no constants.
const TEXT_MAX: usize = 4096;

impl Macros {
    /// Defines a macro from what stands behind `#define`.
    pub(crate) fn define(&mut self, text: &str) {
        let text = text.trim();
        let length = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(text.len());
        let (name, rest) = text.split_at(length);
        if name.is_empty() {
            return;
        }
        let (parameters, body) = match rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
            Some((list, body)) => {
                let names = list.split(',').map(|one| one.trim().to_owned());
                (Some(names.filter(|one| !one.is_empty()).collect()), body)
            }
            None => (None, rest),
        };
        let body = without_comments(body);
        self.values.get_mut().clear();
        self.defined
            .insert(name.to_owned(), Macro { parameters, body });
    }

    /// Forgets a macro.
    pub(crate) fn undefine(&mut self, name: &str) {
        self.values.get_mut().clear();
        self.defined.remove(name);
    }

    /// A macro.
    pub(crate) fn get(&self, name: &str) -> Option<&Macro> {
        self.defined.get(name)
    }

    /// The value of a name that stands for a whole number.
    pub(crate) fn value(&self, name: &str) -> Option<i64> {
        self.value_at(name, 0)
    }

    fn value_at(&self, name: &str, depth: u32) -> Option<i64> {
        if let Some(known) = self.values.borrow().get(name) {
            return *known;
        }
        let found = self.defined.get(name)?;
        if found.parameters.is_some() || depth > DEPTH_MAX || found.body.len() > TEXT_MAX {
            return None;
        }
        self.values.borrow_mut().insert(name.to_owned(), None);
        let value = evaluate(&found.body, &mut |wanted| self.value_at(wanted, depth + 1));
        self.values.borrow_mut().insert(name.to_owned(), value);
        value
    }

    /// The value of a constant expression.
    pub(crate) fn evaluate(&self, text: &str) -> Option<i64> {
        if text.len() > TEXT_MAX {
            return None;
        }
        evaluate(text, &mut |name| self.value(name))
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        out.push(' ');
        rest = rest[at..].split_once("*/").map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    if let Some(at) = out.find("//") {
        out.truncate(at);
    }
    out.replace("\\\r\n", " ")
        .replace("\\\n", " ")
        .trim()
        .to_owned()
}

/// The value of a constant expression of C over names that `lookup` knows; `defined` and
/// casts to plain types are understood.
pub(crate) fn evaluate(text: &str, lookup: &mut dyn FnMut(&str) -> Option<i64>) -> Option<i64> {
    let tokens = tokens(text)?;
    let mut reading = Reading {
        tokens: &tokens,
        at: 0,
        lookup,
    };
    let value = reading.binary(0, 0)?;
    (reading.at == tokens.len()).then_some(value)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Number(i64),
    Name(&'a str),
    Sign(&'a str),
}

const SIGNS: [&str; 26] = [
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "(", ")", "<", ">",
    "!", "~", "&", "|", "^", "?", ":", ",", "=",
];

fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut rest = text.trim_start();
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length;
        if first.is_ascii_alphanumeric() || first == '_' {
            length = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '\'' | '.')))
                .unwrap_or(rest.len());
            let word = &rest[..length];
            found.push(if first.is_ascii_digit() {
                Token::Number(number(word)?)
            } else {
                Token::Name(word)
            });
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
            length = sign.len();
            found.push(Token::Sign(sign));
        }
        rest = rest[length..].trim_start();
    }
    Some(found)
}

/// A whole number of C.
pub(crate) fn number(text: &str) -> Option<i64> {
    let text = text.replace('\'', "").to_ascii_lowercase();
    let (digits, radix) = if let Some(digits) = text.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = text.strip_prefix("0b") {
        (digits, 2)
    } else if text.len() > 1 && text.starts_with('0') && text.as_bytes()[1].is_ascii_digit() {
        (&text[1..], 8)
    } else {
        (text.as_str(), 10)
    };
    let digits = digits.trim_end_matches(['u', 'l', 'z']);
    i64::from_str_radix(digits, radix).ok()
}

struct Reading<'a, 'b> {
    tokens: &'a [Token<'a>],
    at: usize,
    lookup: &'b mut dyn FnMut(&str) -> Option<i64>,
}

/// Operators by how tightly they bind, loosest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'a> Reading<'a, '_> {
    fn takes(&mut self, sign: &str) -> bool {
        let found = self.tokens.get(self.at) == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn sign_of(&mut self, level: usize) -> Option<&'a str> {
        match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) if LEVELS[level].contains(sign) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    /// `None` also for a part that is unknown, unless the other side decides alone.
    fn binary(&mut self, level: usize, depth: u32) -> Option<i64> {
        if level == LEVELS.len() {
            return self.unary(depth);
        }
        let mut left = self.binary(level + 1, depth);
        while let Some(sign) = self.sign_of(level) {
            let right = self.binary(level + 1, depth);
            left = match (sign, left, right) {
                ("||", Some(1..), _) | ("||", _, Some(1..)) => Some(1),
                ("&&", Some(0), _) | ("&&", _, Some(0)) => Some(0),
                (_, Some(left), Some(right)) => apply(sign, left, right),
                _ => None,
            };
        }
        left
    }

    fn unary(&mut self, depth: u32) -> Option<i64> {
        if depth > DEPTH_MAX {
            self.at = self.tokens.len() + 1;
            return None;
        }
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        match token {
            Token::Number(value) => Some(value),
            Token::Name("defined") => {
                let open = self.takes("(");
                let Some(Token::Name(name)) = self.tokens.get(self.at) else {
                    return None;
                };
                self.at += 1;
                if open && !self.takes(")") {
                    return None;
                }
                (self.lookup)(&format!("defined {name}"))
            }
            Token::Name(name) => {
                let value = (self.lookup)(name);
                // A call: skipped, not known.
                if self.takes("(") {
                    self.skip();
                    return None;
                }
                value
            }
            Token::Sign("-") => self.unary(depth + 1)?.checked_neg(),
            Token::Sign("+") => self.unary(depth + 1),
            Token::Sign("!") => self.unary(depth + 1).map(|value| i64::from(value == 0)),
            Token::Sign("~") => self.unary(depth + 1).map(|value| !value),
            Token::Sign("(") => {
                // Casts to plain types change nothing here.
                let cast = self.tokens[self.at..]
                    .iter()
                    .take_while(|token| matches!(token, Token::Name(name) if is_plain_type(name)))
                    .count();
                if cast > 0 && self.tokens.get(self.at + cast) == Some(&Token::Sign(")")) {
                    self.at += cast + 1;
                    return self.unary(depth + 1);
                }
                let value = self.binary(0, depth + 1);
                if !self.takes(")") {
                    self.at = self.tokens.len() + 1;
                    return None;
                }
                value
            }
            Token::Sign(_) => {
                self.at = self.tokens.len() + 1;
                None
            }
        }
    }

    fn skip(&mut self) {
        let mut open = 1;
        while open > 0 && self.at < self.tokens.len() {
            match self.tokens[self.at] {
                Token::Sign("(") => open += 1,
                Token::Sign(")") => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

fn is_plain_type(name: &str) -> bool {
    matches!(
        name,
        "int" | "long" | "short" | "unsigned" | "signed" | "size_t" | "int64_t" | "int32_t"
    )
}

fn apply(sign: &str, left: i64, right: i64) -> Option<i64> {
    let truth = |value: bool| Some(i64::from(value));
    match sign {
        "||" => truth(left != 0 || right != 0),
        "&&" => truth(left != 0 && right != 0),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "==" => truth(left == right),
        "!=" => truth(left != right),
        "<" => truth(left < right),
        ">" => truth(left > right),
        "<=" => truth(left <= right),
        ">=" => truth(left >= right),
        "<<" => left.checked_shl(u32::try_from(right).ok()?),
        ">>" => left.checked_shr(u32::try_from(right).ok()?),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_through_other_macros() {
        let mut macros = Macros::default();
        for text in [
            "N 100",
            "M (N * 2 + 1) /* twice */",
            "K ((int) M << 1)",
            "LOOP LOOP + 1",
            "A B + B",
            "B A + A",
            "F(x) ((x) + 1)",
            "D 1.5",
        ] {
            macros.define(text);
        }
        assert_eq!(macros.value("K"), Some(402));
        assert_eq!(macros.evaluate("N - 2"), Some(98));
        for name in ["LOOP", "A", "F", "D", "none"] {
            assert_eq!(macros.value(name), None, "{name}");
        }
        assert_eq!(macros.evaluate("F(2) || N"), Some(1));
        assert_eq!(macros.evaluate("1 / 0"), None);
        assert_eq!(macros.evaluate(&"(".repeat(3000)), None);
        assert_eq!(macros.evaluate("(1"), None);
        assert_eq!(macros.evaluate("1)"), None);
    }

    #[test]
    fn macros_that_double_do_not_take_long() {
        let mut macros = Macros::default();
        for index in 0..60 {
            let next = index + 1;
            macros.define(&format!("X{index} X{next} + X{next}"));
        }
        macros.define("X60 1");
        assert_eq!(macros.value("X0"), Some(1 << 60));
    }
}
