//! The progress of the sample data: one line that is redrawn on a terminal, and printed once elsewhere.

use std::io::{IsTerminal, Write, stderr};

#[derive(Debug)]
pub(super) struct Progress {
    output: ProgressOutput,
    /// The last printed percentage; -1 before the first.
    percent: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgressOutput {
    Terminal,
    Plain,
}

const TITLE: &str = "Making the sample data";

impl Progress {
    /// On standard error: standard output is for the result.
    pub(super) fn on_standard_error() -> Self {
        Progress { output: if stderr().is_terminal() { ProgressOutput::Terminal } else { ProgressOutput::Plain }, percent: -1 }
    }

    pub(super) fn show(&mut self, percent: i64, rows: u64) {
        if percent == self.percent {
            return;
        }
        if self.output == ProgressOutput::Terminal {
            write(&format!("\r{TITLE}: {percent:>3} %, {} rows", with_commas(rows)));
        } else if self.percent < 0 {
            write(&format!("{TITLE} …\n"));
        }
        self.percent = percent;
    }

    pub(super) fn finish(&self, rows: u64) {
        match self.output {
            ProgressOutput::Terminal => write(&format!("\r\x1b[K{TITLE}: {} rows\n", with_commas(rows))),
            ProgressOutput::Plain => write(&format!("{TITLE}: {} rows\n", with_commas(rows))),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.output == ProgressOutput::Terminal && (0..100).contains(&self.percent) {
            write("\n");
        }
    }
}

fn write(text: &str) {
    // Standard error may be closed, which is no reason to stop.
    let mut out = stderr();
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `75,000`
fn with_commas(number: u64) -> String {
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
    use super::with_commas;

    #[test]
    fn thousands_are_separated_by_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (75_123, "75,123"), (1_234_567, "1,234,567")] {
            assert_eq!(with_commas(number), text);
        }
    }
}
