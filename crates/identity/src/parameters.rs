//! The parameters of a request to an OAuth endpoint. A repeated name is refused.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::Zeroizing;

use crate::error::Error;

/// Parameters by name, each once. `Debug` shows only names: values may be codes, secrets and passwords.
#[derive(Clone, Default)]
pub struct Parameters(BTreeMap<String, Zeroizing<String>>);

impl fmt::Debug for Parameters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

impl Parameters {
    /// Reads the decoded pairs of a query string, a form or a JSON object. It refuses a repeated name, known or not (RFC 6749, 3.1).
    pub fn read(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, Error> {
        let mut found = BTreeMap::new();
        for (name, value) in pairs {
            if found.insert(name, Zeroizing::new(value)).is_some() {
                return Err(Error::request("a parameter is repeated"));
            }
        }
        Ok(Parameters(found))
    }

    /// The value of a name; an empty one counts as missing (RFC 6749, 3.1).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.as_str()).filter(|value| !value.is_empty())
    }
}
