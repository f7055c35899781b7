//! What the log of the process is told of an event that was noted.

/// An event for the log of the process.
#[derive(Debug)]
pub struct LogLine {
    pub(crate) event: &'static str,
    pub(crate) address: Option<String>,
    /// Its data as JSON.
    pub(crate) data: String,
}

impl LogLine {
    pub(crate) fn tell(self) {
        let LogLine { event, address, data } = self;
        tracing::info!(target: "peristyle::audit", event, address, %data, "audit");
    }
}
