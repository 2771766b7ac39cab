//! What was chosen for each region, as the runtime tells the launcher: lines of words.
//!
//! ```text
//! fathomp choices 2
//! WHY ALL THREADS EXECUTIONS FUNCTION CALL MODULE
//! ```
//!
//! A process adds its lines to what is there; every process and thread begins with a head.

use std::fmt::Write as _;

const HEAD: &str = "fathomp choices 2";

/// Why a region has the team that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Advice says so.
    Advice,
    /// The program says how many threads the region has (`num_threads`,
    /// `omp_set_num_threads`).
    Program,
    /// The program asks `omp_get_max_threads` just before the region and may count on so many.
    Asked,
    /// The region asks `omp_get_num_threads` for more than to share a loop: others may have
    /// to have as many.
    Counts,
    /// The module keeps data of each thread (threadprivate), which regions may rely on.
    ThreadData,
}

/// What was chosen for one region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Why.
    pub why: Why,
    /// Threads of the whole team.
    pub all: u32,
    /// Threads that it has.
    pub threads: u32,
    /// Executions.
    pub executions: u64,
    /// Address of its body in the module's file.
    pub function: u64,
    /// Address of the call in the module's file; 0 if that is elsewhere.
    pub call: u64,
    /// The module's file.
    pub module: String,
}

/// What one or more threads chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// For each region.
    pub regions: Vec<Choice>,
}

/// Why text holds no choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoicesError {
    /// A line says nothing known.
    #[error("line {0} of what the runtime chose cannot be read")]
    Line(usize),
}

impl Why {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Advice, "advice"),
        (Self::Program, "program"),
        (Self::Asked, "asked"),
        (Self::Counts, "counts"),
        (Self::ThreadData, "thread-data"),
    ];

    /// One word.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(why, _)| *why == self);
        found.map_or("", |(_, word)| word)
    }
}

impl Choices {
    /// As text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for choice in &self.regions {
            let _ = writeln!(
                text,
                "{} {} {} {} {:x} {:x} {}",
                choice.why.word(),
                choice.all,
                choice.threads,
                choice.executions,
                choice.function,
                choice.call,
                choice.module.replace('\n', "?")
            );
        }
        text
    }

    /// Reads text. What several threads or processes say of one region stands side by side.
    ///
    /// # Errors
    /// See [`ChoicesError`].
    pub fn from_text(text: &str) -> Result<Self, ChoicesError> {
        let mut choices = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            if line != HEAD {
                let choice = choice(line).ok_or(ChoicesError::Line(number))?;
                choices.regions.push(choice);
            }
        }
        Ok(choices)
    }
}

fn choice(line: &str) -> Option<Choice> {
    let mut words = line.splitn(7, ' ');
    let why = words.next()?;
    let (why, _) = Why::ALL.into_iter().find(|(_, word)| *word == why)?;
    Some(Choice {
        why,
        all: words.next()?.parse().ok()?,
        threads: words.next()?.parse().ok()?,
        executions: words.next()?.parse().ok()?,
        function: u64::from_str_radix(words.next()?, 16).ok()?,
        call: u64::from_str_radix(words.next()?, 16).ok()?,
        module: words.next()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_survive_their_text_and_add_up() {
        let one = Choices {
            regions: vec![Choice {
                why: Why::Advice,
                all: 8,
                threads: 1,
                executions: 12,
                function: 0x1234,
                call: 0,
                module: "/a b/c".to_owned(),
            }],
        };
        let text = one.to_text();
        assert_eq!(Choices::from_text(&text), Ok(one.clone()));
        let twice = Choices::from_text(&(text.clone() + &text)).unwrap();
        assert_eq!(twice.regions.len(), 2);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["x", "fathomp choices 1", "advice 1 1 1 0 0"] {
            assert_eq!(
                Choices::from_text(text),
                Err(ChoicesError::Line(1)),
                "{text}"
            );
        }
        assert_eq!(Choices::from_text(""), Ok(Choices::default()));
    }
}
