//! `peristyle account`

use std::process::ExitCode;

use clap::Subcommand;
use identity::account::{Account, AccountKind};
use identity::password_link::LinkPurpose;
use serde_json::{Value, json};
use store::hub_records::{accounts, roles, sessions, summaries, tenants};
use uuid::Uuid;

use crate::administration::{AccountChange, NewAccount};
use crate::clock;
use crate::config::Config;

use super::desk::{self, Desk};
use super::show::{Table, merge, unknown};
use super::{Administered, Failure, usage};

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Make an account
    #[command(
        after_help = "Example:\n  echo 'correct horse' | peristyle account add --username ana --email ana@example.com --role administrator --password-stdin"
    )]
    Add(Box<Add>),
    /// List accounts
    #[command(after_help = "Example:\n  peristyle account list --limit 20")]
    List {
        /// How many
        #[arg(long, default_value_t = 1000, value_parser = usage::count, allow_negative_numbers = true)]
        limit: u32,
        /// How many to pass over
        #[arg(long, default_value_t = 0, value_parser = usage::count, allow_negative_numbers = true)]
        offset: u32,
    },
    /// Show one account: its roles, tenants and rights, without secrets
    #[command(after_help = "Examples:\n  peristyle account show --username ana\n  peristyle account show --username ana --json")]
    Show(Chosen),
    /// Change an account; deactivating it ends its sessions and grants
    #[command(after_help = "Example:\n  peristyle account update --username ana --active false")]
    Update(Box<Update>),
    /// Remove an account, its sessions and grants
    #[command(after_help = "Example:\n  peristyle account remove --username ana")]
    Remove(Named),
    /// Set a password; what was granted before ends
    #[command(after_help = "Example:\n  echo 'correct horse' | peristyle account password --username ana --password-stdin")]
    Password {
        #[command(flatten)]
        named: Named,
        #[command(flatten)]
        secret: Secret,
    },
    /// Print a one-time link that sets a first password, for seven days
    #[command(after_help = "Example:\n  peristyle account invite --username ana")]
    Invite(Named),
    /// Print a one-time link that sets a new password, for an hour
    #[command(after_help = "Example:\n  peristyle account reset --username ana")]
    Reset(Named),
}

#[derive(Debug, clap::Args)]
pub(super) struct Named {
    /// Its username or email
    #[arg(long)]
    username: String,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Chosen {
    /// Its username or email
    #[arg(long)]
    username: Option<String>,
    /// Its id
    #[arg(long, value_parser = usage::id)]
    id: Option<Uuid>,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(super) struct Secret {
    /// Read the password from standard input, to its end
    #[arg(long)]
    password_stdin: bool,
    /// Read a hash from elsewhere (Argon2, bcrypt, scrypt, PBKDF2) from standard input
    #[arg(long)]
    password_hash_stdin: bool,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("called").args(["username", "email"]).required(true).multiple(true))]
pub(super) struct Add {
    /// Its username; this, an email or both
    #[arg(long)]
    username: Option<String>,
    /// Its email
    #[arg(long)]
    email: Option<String>,
    /// The name of a role; repeat for several
    #[arg(long = "role")]
    roles: Vec<String>,
    /// The id of a tenant; repeat for several
    #[arg(long = "tenant", value_parser = usage::id)]
    tenants: Vec<Uuid>,
    /// A JSON object for constraints and apps to read
    #[arg(long)]
    meta: Option<String>,
    /// A program, not a person
    #[arg(long)]
    service: bool,
    #[command(flatten)]
    secret: Secret,
}

#[derive(Debug, clap::Args)]
pub(super) struct Update {
    #[command(flatten)]
    named: Named,
    /// Whether it can be used
    #[arg(long, action = clap::ArgAction::Set)]
    active: Option<bool>,
    /// A new email
    #[arg(long)]
    email: Option<String>,
    /// A new username
    #[arg(long)]
    rename: Option<String>,
    /// The name of a role, in place of those it has; repeat for several
    #[arg(long = "role")]
    roles: Vec<String>,
    /// Take all roles away
    #[arg(long, conflicts_with = "roles")]
    no_roles: bool,
    /// The id of a tenant, in place of those it has; repeat for several
    #[arg(long = "tenant", value_parser = usage::id)]
    tenants: Vec<Uuid>,
    /// Take it out of all tenants
    #[arg(long, conflicts_with = "tenants")]
    no_tenants: bool,
    /// A JSON object, in place of the one it has
    #[arg(long)]
    meta: Option<String>,
}

fn shown(account: &Account) -> Value {
    json!({
        "id": account.id.to_string(), "type": account.kind.as_str(), "username": account.username, "email": account.email,
        "isActive": account.is_active, "dPermissions": account.rights.to_json(), "dTenants": account.tenants.iter().map(ToString::to_string).collect::<Vec<_>>(), "meta": account.meta,
    })
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, arguments.output()).await?;
    match arguments.action {
        Action::Add(add) => self::add(&desk, *add).await,
        Action::List { limit, offset } => {
            let accounts = accounts::list(&desk.records, limit.into(), offset.into()).await?;
            let line = |account: &Account| {
                let state = if account.is_active { "active" } else { "inactive" };
                format!("{}\t{}\t{}\t{state}", account.id, account.code, account.email.as_deref().unwrap_or("-"))
            };
            desk.list("accounts", &accounts.iter().map(line).collect::<Vec<_>>(), accounts.iter().map(shown).collect())
        }
        Action::Show(chosen) => show(&desk, chosen).await,
        Action::Update(update) => self::update(&desk, *update).await,
        Action::Remove(named) => {
            let account = desk.account(&named.username).await?;
            desk.administration().remove_account(account.id).await?;
            desk.answer(&format!("account {} was removed", account.code), &json!({ "removed": account.id.to_string() }))
        }
        Action::Password { named, secret } => {
            let account = desk.account(&named.username).await?;
            let hash = if secret.password_hash_stdin {
                desk::foreign_hash()?
            } else if secret.password_stdin {
                desk::hashed_password()?
            } else {
                return Err(Failure("say where the password comes from: --password-stdin or --password-hash-stdin".to_owned()));
            };
            desk.administration().set_password(account.id, &hash).await?;
            desk.answer(&format!("the password of {} was set", account.code), &json!({ "id": account.id.to_string() }))
        }
        Action::Invite(named) => link(config, &desk, &named, LinkPurpose::Invitation).await,
        Action::Reset(named) => link(config, &desk, &named, LinkPurpose::Reset).await,
    }
}

async fn chosen(desk: &Desk, chosen: Chosen) -> Result<Account, Failure> {
    match (chosen.username, chosen.id) {
        (Some(name), _) => desk.account(&name).await,
        (None, Some(id)) => {
            let found = accounts::by_id(&desk.records, id).await?.filter(|account| account.deleted_at.is_none());
            found.ok_or_else(|| unknown(&format!("account {id}"), "", &[], "account"))
        }
        (None, None) => Err(Failure("name --username or --id".to_owned())),
    }
}

async fn show(desk: &Desk, chosen: Chosen) -> Result<ExitCode, Failure> {
    let account = self::chosen(desk, chosen).await?;
    let roles = roles::names_of(&desk.records, account.id).await?;
    let tenants = tenants::by_ids(&desk.records, &account.tenants).await?;
    let password = summaries::password_set_at(&desk.records, account.id).await?;
    let sessions = sessions::of_account(&desk.records, account.id, None, 1, desk.now).await?.all;
    let permissions: Vec<&str> = account.rights.all().collect();
    let everything = account.rights.are_everything().then_some(["everything"].as_slice());
    let named: Vec<String> = tenants.iter().map(|tenant| format!("{} ({})", tenant.code, tenant.id)).collect();
    let table = Table::default()
        .row("id", account.id.to_string())
        .row("code", &account.code)
        .maybe("username", account.username.as_deref())
        .maybe("email", account.email.as_deref())
        .row("type", account.kind.as_str())
        .row("active", if account.is_active { "yes" } else { "no" })
        .row("password", password.map_or("not set".to_owned(), |moment| format!("set {}", clock::rfc3339(moment))))
        .list("roles", &roles)
        .list("tenants", &named)
        .list("permissions", everything.unwrap_or(&permissions))
        .row("sessions", sessions.to_string())
        .list("tags", &account.tags)
        .list("scopes", &account.scopes)
        .row("meta", Value::Object(account.meta.clone()).to_string())
        .row("created", clock::rfc3339(account.created_at))
        .row("updated", clock::rfc3339(account.updated_at));
    let mut object = shown(&account);
    let more = json!({
        "code": account.code, "tags": account.tags, "scopes": account.scopes, "roles": roles, "hasPassword": password.is_some(),
        "tenants": tenants.iter().map(super::tenant::shown).collect::<Vec<_>>(), "sessions": sessions,
        "createdAt": clock::rfc3339(account.created_at), "updatedAt": clock::rfc3339(account.updated_at),
    });
    merge(&mut object, more);
    desk.show(&table, &object)
}

async fn add(desk: &Desk, add: Add) -> Result<ExitCode, Failure> {
    let password = match (add.secret.password_stdin, add.secret.password_hash_stdin) {
        (true, _) => Some(desk::hashed_password()?),
        (_, true) => Some(desk::foreign_hash()?),
        _ => None,
    };
    let new = NewAccount {
        kind: if add.service { AccountKind::Service } else { AccountKind::User },
        code: None,
        username: add.username,
        email: add.email,
        tags: Vec::new(),
        scopes: Vec::new(),
        roles: add.roles,
        tenants: add.tenants,
        meta: add.meta.as_deref().map(desk::meta).transpose()?.unwrap_or_default(),
        password,
    };
    let account = desk.administration().create_account(new).await?;
    desk.answer(&format!("account {} was made: {}", account.code, account.id), &shown(&account))
}

async fn update(desk: &Desk, update: Update) -> Result<ExitCode, Failure> {
    let account = desk.account(&update.named.username).await?;
    let change = AccountChange {
        username: update.rename,
        email: update.email,
        active: update.active,
        roles: (update.no_roles || !update.roles.is_empty()).then_some(update.roles),
        tenants: (update.no_tenants || !update.tenants.is_empty()).then_some(update.tenants),
        meta: update.meta.as_deref().map(desk::meta).transpose()?,
        ..AccountChange::default()
    };
    if change == AccountChange::default() {
        return Err(Failure(
            "nothing to update: name --active, --email, --rename, --role, --no-roles, --tenant, --no-tenants or --meta".to_owned(),
        ));
    }
    let account = desk.administration().update_account(account.id, change).await?;
    desk.answer(&format!("account {} was updated", account.code), &shown(&account))
}

async fn link(config: &Config, desk: &Desk, named: &Named, purpose: LinkPurpose) -> Result<ExitCode, Failure> {
    let account = desk.account(&named.username).await?;
    let token = desk.administration().make_link(account.id, purpose).await?;
    let address = format!("{}/password?link={}", config.app_url, *token.expose());
    let object = json!({ "id": account.id.to_string(), "link": address, "expiresIn": purpose.seconds() });
    desk.hand_over(&address, &object, &format!("a link for {} was made", account.code), "the same command makes another")
}
