//! Who is asking. Under `none` everybody is the anonymous account, whatever a request claims.

use std::sync::Arc;

use query::policy::Viewer;

/// Turns a request into a viewer.
#[derive(Clone, Debug)]
pub struct Gate {
    everyone: Arc<Viewer>,
}

impl Gate {
    /// The gate of a process without an authority: headers are not looked at.
    pub fn open() -> Self {
        Gate { everyone: Arc::new(Viewer::anonymous()) }
    }

    /// A gate that takes every caller for this viewer. Only programs that embed us, tests among them, can make one.
    pub fn of(viewer: Viewer) -> Self {
        Gate { everyone: Arc::new(viewer) }
    }

    /// The caller.
    pub fn viewer(&self) -> Arc<Viewer> {
        self.everyone.clone()
    }
}
