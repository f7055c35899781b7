//! `peristyle keys`: private halves are files, public halves and their states stand in the database.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use identity::audit_event::AuditEvent;
use identity::keys::rotation::KeyRing;
use identity::keys::{KeyLength, PrivateKey};
use serde_json::{Value, json};
use store::hub_records::audit_log::{self, AuditContext};
use store::hub_records::signing_keys;

use crate::config::Config;
use crate::key_files::{self, KeyPair, PUBLIC_NAME};

use super::desk::Desk;
use super::print::report;
use super::{Administered, Failure, Output};

/// How long a key is announced before it signs, as somebody would type it.
const ANNOUNCED: &str = "5m";

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Make a key pair: oauth-private.key and oauth-public.key
    #[command(after_help = "Example:\n  peristyle keys generate --out .keys")]
    Generate {
        /// The folder
        #[arg(long, default_value = ".keys")]
        out: PathBuf,
        /// How long: 2048, 3072 or 4096 bits
        #[arg(long, default_value = "2048", value_parser = length)]
        bits: KeyLength,
    },
    /// Take the next step of a rotation: announce a new key; five minutes later, let it sign and retire the old one
    #[command(
        after_help = "Example:\n  peristyle keys rotate   # makes oauth-private.key.next and announces it\n  peristyle keys rotate   # five minutes later: it signs\n  peristyle keys rotate --after 1h   # if verifiers keep the key set for an hour"
    )]
    Rotate {
        /// How long the key must have been announced before it signs: as long as verifiers keep the key set
        #[arg(long, default_value = ANNOUNCED, value_parser = seconds)]
        after: i64,
        /// Let the announced key sign although verifiers may not know it yet: --after 0s
        #[arg(long, conflicts_with = "after")]
        now: bool,
    },
}

fn length(text: &str) -> Result<KeyLength, String> {
    match text {
        "2048" => Ok(KeyLength::Bits2048),
        "3072" => Ok(KeyLength::Bits3072),
        "4096" => Ok(KeyLength::Bits4096),
        _ => Err("2048, 3072 or 4096 is expected".to_owned()),
    }
}

/// `90`, `90s`, `5m` or `1h`, up to a week.
fn seconds(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        _ => None,
    };
    let number = digits.parse::<u32>().ok().zip(unit).map(|(number, unit)| i64::from(number) * unit);
    number.filter(|seconds| *seconds <= 7 * 86_400).ok_or_else(|| "a time such as 30s, 5m or 1h is expected, a week at most".to_owned())
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let output = arguments.output();
    match arguments.action {
        Action::Generate { out, bits } => generate(&out, bits, output),
        Action::Rotate { after, now } => rotate(config, if now { 0 } else { after }, output).await,
    }
}

fn generate(folder: &Path, bits: KeyLength, output: Output) -> Result<ExitCode, Failure> {
    let KeyPair { id, private, public } = KeyPair::make(folder, bits)?;
    let object = json!({ "kid": id, "private": private, "public": public });
    let text = format!("{} and {} were made; guard the private one", private.display(), public.display());
    report(&if output == Output::Json { object.to_string() } else { text })?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<PrivateKey, Failure> {
    key_files::read_private(path).map_err(|problem| {
        let end = if path.exists() { "" } else { "; `peristyle keys generate` makes one" };
        Failure(format!("OAUTH_PRIVATE_KEY_PATH: the private key {} {problem}{end}", path.display()))
    })
}

async fn rotate(config: &Config, announced_seconds: i64, output: Output) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, output).await?;
    let path = &config.private_key_path;
    let next = key_files::next_to(path);
    let current = read(path)?;

    let mut transaction = desk.records.begin().await?;
    signing_keys::lock(&mut transaction).await?;
    let ring = signing_keys::load(&mut transaction).await?.unwrap_or_else(|| KeyRing::begin(current.public().clone(), desk.now));
    // A promotion that was cut off before the file was moved is finished first.
    if next.exists() && ring.signing() == read(&next)?.public() {
        let text = moved(&next, path);
        return desk.answer(&text, &json!({ "kid": ring.signing().id().as_str(), "state": "signing" }));
    }
    let promoting = ring.announced().is_some();
    let (mut ring, state, key) = if promoting {
        let key = read(&next)?;
        if ring.announced() != Some(key.public()) {
            return Err(Failure(format!("{} is not the key that was announced", next.display())));
        }
        (ring.promote(desk.now, announced_seconds)?, "signing", key)
    } else {
        if ring.signing() != current.public() {
            return Err(Failure(format!("{} is not the key that signs now", path.display())));
        }
        // One that was made for this and never announced is used; nothing is overwritten.
        if !next.exists() {
            key_files::write_private(&next, &PrivateKey::generate(KeyLength::Bits2048)?)?;
        }
        let key = read(&next)?;
        (ring.announce(key.public().clone(), desk.now)?, "announced", key)
    };
    ring.purge(desk.now);
    signing_keys::save(&mut transaction, &ring).await?;
    let occasion = AuditContext { now: desk.now, address: None };
    let name = key.public().id().as_str().to_owned();
    audit_log::append(&mut transaction, &AuditEvent::KeyRotated { key: name.clone(), state }, occasion).await?;
    transaction.commit().await?;
    let text = if promoting {
        moved(&next, path)
    } else {
        let when =
            if announced_seconds == 0 { "to let it sign".to_owned() } else { format!("when {} has passed", told(announced_seconds)) };
        format!(
            "key {name} is announced; its private half is {}. Bring the file to every replica, and run this again {when}",
            next.display()
        )
    };
    let keys: Vec<Value> = ring.records().iter().map(|record| json!(record.key.id().as_str())).collect();
    desk.answer(&text, &json!({ "kid": name, "state": state, "published": keys }))
}

fn told(seconds: i64) -> String {
    if seconds % 60 == 0 { format!("{} min", seconds / 60) } else { format!("{seconds} s") }
}

/// The new key takes the place of the old one, whose private half nobody needs any more, and so does its public half where there is one.
fn moved(next: &Path, path: &Path) -> String {
    let public = path.with_file_name(PUBLIC_NAME);
    if let (true, Ok(key)) = (public.exists(), read(next)) {
        // Only people read this file; the hub publishes what the database says.
        _ = key.public().to_pem().map(|text| std::fs::write(&public, text));
    }
    let (next_name, name) = (next.display(), path.display());
    match std::fs::rename(next, path) {
        Ok(()) => format!("the announced key signs now, from {name}; the old one stays published until its last token has expired"),
        Err(error) => format!("the announced key signs now; put {next_name} in the place of {name} yourself: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use identity::keys::rotation::ANNOUNCED_SECONDS;

    use super::*;

    #[test]
    fn a_key_is_announced_for_as_long_as_the_rules_say() {
        // contract B3.6
        assert_eq!(seconds(ANNOUNCED), Ok(ANNOUNCED_SECONDS));
    }
}
