//! The line that says how far the sample data is: redrawn on a terminal, said once anywhere else.

use std::io::{IsTerminal, Write, stderr};

/// Where the line goes, and what it said last.
#[derive(Debug)]
pub(super) struct Progress {
    place: Place,
    shown: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Terminal,
    Plain,
    #[cfg(test)]
    Nowhere,
}

const WHAT: &str = "Making the sample data";

impl Progress {
    /// On standard error, which nobody takes for the answer.
    pub(super) fn on_standard_error() -> Self {
        Progress { place: if stderr().is_terminal() { Place::Terminal } else { Place::Plain }, shown: -1 }
    }

    #[cfg(test)]
    pub(super) fn silent() -> Self {
        Progress { place: Place::Nowhere, shown: -1 }
    }

    /// So much of the whole is there.
    pub(super) fn show(&mut self, done: i64, whole: i64, rows: u64) {
        let percent = done * 100 / whole.max(1);
        if percent == self.shown {
            return;
        }
        if self.place == Place::Terminal {
            write(&format!("\r{WHAT}: {percent:>3} %, {} rows", grouped(rows)));
        } else if self.place == Place::Plain && self.shown < 0 {
            write(&format!("{WHAT} …\n"));
        }
        self.shown = percent;
    }

    /// All of it is there.
    pub(super) fn done(&self, rows: u64) {
        match self.place {
            Place::Terminal => write(&format!("\r\x1b[K{WHAT}: {} rows\n", grouped(rows))),
            Place::Plain => write(&format!("{WHAT}: {} rows\n", grouped(rows))),
            #[cfg(test)]
            Place::Nowhere => {}
        }
    }
}

impl Drop for Progress {
    /// Who stops half-way leaves a whole line behind.
    fn drop(&mut self) {
        if self.place == Place::Terminal && (0..100).contains(&self.shown) {
            write("\n");
        }
    }
}

fn write(text: &str) {
    // Nobody may be reading; that is no reason to fail.
    let mut out = stderr();
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `75,000`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_told_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (75_123, "75,123"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
