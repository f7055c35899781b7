//! `peristyle keys`: generates and rotates signing keys. Private keys are files; the database holds public keys and their states.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use identity::audit_event::AuditEvent;
use identity::keys::rotation::KeyRing;
use identity::keys::{KeyLength, PrivateKey};
use serde_json::{Value, json};
use store::hub_records::audit_log::{self, AuditContext};
use store::hub_records::signing_keys;

use crate::config::Config;
use crate::key_files::{self, KeyPair, PUBLIC_NAME};

use super::CommandError;
use super::admin_context::AdminContext;
use super::output::{OutputFormat, print_change};

const DEFAULT_AFTER: &str = "5m";

#[derive(Debug, Subcommand)]
pub(super) enum KeysAction {
    /// Generate a key pair: oauth-private.key and oauth-public.key
    #[command(after_help = "Example:\n  peristyle keys generate --out .keys")]
    Generate {
        /// The folder to write to
        #[arg(long, default_value = ".keys")]
        out: PathBuf,
        /// The key length: 2048, 3072 or 4096 bits
        #[arg(long, default_value = "2048", value_parser = parse_length)]
        bits: KeyLength,
    },
    /// Take the next step of a rotation: announce a new key; five minutes later, let it sign and retire the old one
    #[command(
        after_help = "Example:\n  peristyle keys rotate   # generates oauth-private.key.next and announces it\n  peristyle keys rotate   # five minutes later: it signs\n  peristyle keys rotate --after 1h   # if verifiers cache the key set for an hour"
    )]
    Rotate {
        /// The time between announcement and signing: at least as long as verifiers cache the key set
        #[arg(long, default_value = DEFAULT_AFTER, value_parser = parse_seconds)]
        after: i64,
        /// Let the announced key sign now, although verifiers may not know it yet; the same as --after 0s
        #[arg(long, conflicts_with = "after")]
        now: bool,
    },
}

fn parse_length(text: &str) -> Result<KeyLength, String> {
    match text {
        "2048" => Ok(KeyLength::Bits2048),
        "3072" => Ok(KeyLength::Bits3072),
        "4096" => Ok(KeyLength::Bits4096),
        _ => Err("2048, 3072 or 4096 is expected".to_owned()),
    }
}

/// `90`, `90s`, `5m`, `1h` or `1d`, up to a week.
fn parse_seconds(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        _ => None,
    };
    let number = digits.parse::<u32>().ok().zip(unit).map(|(number, unit)| i64::from(number) * unit);
    number.filter(|seconds| *seconds <= 7 * 86_400).ok_or_else(|| "a time such as 30s, 5m, 1h or 1d is expected, at most a week".to_owned())
}

pub(super) async fn run(config: &Config, action: KeysAction, output: OutputFormat) -> Result<(), CommandError> {
    match action {
        KeysAction::Generate { out, bits } => generate(&out, bits, output),
        KeysAction::Rotate { after, now } => rotate(config, if now { 0 } else { after }, output).await,
    }
}

fn generate(folder: &Path, bits: KeyLength, output: OutputFormat) -> Result<(), CommandError> {
    let KeyPair { id, private, public } = KeyPair::make(folder, bits)?;
    let text = format!("generated {} and {}; keep the private key secret", private.display(), public.display());
    print_change(&output.choose(&text, &json!({ "kid": id, "private": private, "public": public })))
}

fn read(path: &Path) -> Result<PrivateKey, CommandError> {
    key_files::read_private(path).map_err(|problem| {
        let hint = if path.exists() { "" } else { "; `peristyle keys generate` makes one" };
        CommandError(format!("OAUTH_PRIVATE_KEY_PATH: the private key {} {problem}{hint}", path.display()))
    })
}

async fn rotate(config: &Config, after_seconds: i64, output: OutputFormat) -> Result<(), CommandError> {
    let path = &config.private_key_path;
    let next = key_files::next_to(path);
    let current = read(path)?;
    let context = AdminContext::create(config, output).await?;

    let mut transaction = context.records.begin().await?;
    signing_keys::lock(&mut transaction).await?;
    let ring = signing_keys::load(&mut transaction).await?.unwrap_or_else(|| KeyRing::begin(current.public().clone(), context.now));
    // An earlier run may have stopped between the commit and the rename; finish it first.
    if next.exists() && ring.signing() == read(&next)?.public() {
        let object = json!({ "kid": ring.signing().id().as_str(), "state": "signing" });
        return context.print_change(&install(&next, path), object);
    }
    let promoting = ring.announced().is_some();
    let (mut ring, state, key) = if promoting {
        let key = read(&next)?;
        if ring.announced() != Some(key.public()) {
            return Err(CommandError(format!("{} is not the announced key", next.display())));
        }
        (ring.promote(context.now, after_seconds)?, "signing", key)
    } else {
        if ring.signing() != current.public() {
            return Err(CommandError(format!("{} is not the key that signs now", path.display())));
        }
        // Use a file that an earlier run generated and did not announce; never overwrite one.
        if !next.exists() {
            key_files::write_private(&next, &PrivateKey::generate(KeyLength::Bits2048)?)?;
        }
        let key = read(&next)?;
        (ring.announce(key.public().clone(), context.now)?, "announced", key)
    };
    ring.purge(context.now);
    signing_keys::save(&mut transaction, &ring).await?;
    let id = key.public().id().as_str().to_owned();
    let audit_context = AuditContext { now: context.now, address: None };
    audit_log::append(&mut transaction, &AuditEvent::KeyRotated { key: id.clone(), state }, audit_context).await?;
    transaction.commit().await?;
    let text = if promoting {
        install(&next, path)
    } else {
        let when = match after_seconds {
            0 => "to let it sign".to_owned(),
            seconds if seconds % 60 == 0 => format!("in {} min", seconds / 60),
            seconds => format!("in {seconds} s"),
        };
        format!("key {id} is announced; its private key is {}. Copy the file to every replica, and run this again {when}", next.display())
    };
    let published: Vec<Value> = ring.records().iter().map(|record| json!(record.key.id().as_str())).collect();
    context.print_change(&text, json!({ "kid": id, "state": state, "published": published }))
}

/// Replaces the old private key by the new one, and the public key file if there is one. Returns the sentence to print.
fn install(next: &Path, path: &Path) -> String {
    let public = path.with_file_name(PUBLIC_NAME);
    if let (true, Ok(key)) = (public.exists(), read(next)) {
        // Only people read this file; the hub publishes the keys of the database.
        _ = key.public().to_pem().map(|text| std::fs::write(&public, text));
    }
    let (next_name, name) = (next.display(), path.display());
    match std::fs::rename(next, path) {
        Ok(()) => format!("the announced key signs now, from {name}; the old key stays published until its last token expires"),
        Err(error) => format!("the announced key signs now, but the file was not renamed ({error}); rename {next_name} to {name}"),
    }
}

#[cfg(test)]
mod tests {
    use identity::keys::rotation::ANNOUNCED_SECONDS;

    use super::*;

    #[test]
    fn the_default_time_between_announcement_and_signing_is_the_one_of_the_rules() {
        // contract B3.6
        assert_eq!(parse_seconds(DEFAULT_AFTER), Ok(ANNOUNCED_SECONDS));
        assert_eq!((parse_seconds("7d"), parse_seconds("90")), (Ok(604_800), Ok(90)));
        assert!(parse_seconds("8d").is_err() && parse_seconds("1w").is_err());
    }
}
