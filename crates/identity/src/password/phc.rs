//! The PHC string format, `$name$v=1$a=2,b=3$salt$hash`, as far as imported password hashes use it.

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

const MAX_BYTES: usize = 512;

/// The `.` in place of `+` that passlib writes.
const DOTTED: GeneralPurpose = GeneralPurpose::new(
    &DOTTED_ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(base64::engine::DecodePaddingMode::RequireNone),
);
const DOTTED_ALPHABET: alphabet::Alphabet =
    match alphabet::Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./") {
        Ok(alphabet) => alphabet,
        Err(_) => alphabet::STANDARD,
    };

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phc<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: Option<u32>,
    /// The parameters in their order; one without a name has an empty one.
    parameters: Vec<(&'a str, u32)>,
    pub(crate) salt: Vec<u8>,
    pub(crate) output: Vec<u8>,
}

impl<'a> Phc<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.strip_prefix('$')?.split('$');
        let name = parts.next()?;
        let mut parameters = parts.next()?;
        let mut version = None;
        if let Some(number) = parameters.strip_prefix("v=") {
            version = Some(number.parse().ok()?);
            parameters = parts.next()?;
        }
        let pair = |text: &'a str| {
            let (name, number) = text.split_once('=').unwrap_or(("", text));
            Some((name, number.parse().ok()?))
        };
        let parameters = parameters.split(',').map(pair).collect::<Option<Vec<_>>>()?;
        let (salt, output) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        parts.next().is_none().then_some(Phc { name, version, parameters, salt, output })
    }

    /// A parameter that occurs once.
    pub(crate) fn parameter(&self, name: &str) -> Option<u32> {
        let mut found = self.parameters.iter().filter(|(known, _)| *known == name);
        let (_, number) = found.next()?;
        found.next().is_none().then_some(*number)
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains('.') { &DOTTED } else { &STANDARD_NO_PAD };
    engine.decode(text).ok().filter(|bytes| !bytes.is_empty() && bytes.len() <= MAX_BYTES)
}
