//! `peristyle account`: adds, lists, shows, changes and removes accounts, and sets their passwords.

use std::io::Read;

use clap::Subcommand;
use identity::account::{Account, AccountKind};
use identity::password::{Password, PasswordHash};
use identity::password_link::LinkPurpose;
use serde_json::{Map, Value, json};
use store::hub_records::{accounts, roles, sessions, summaries, tenants};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::administration::{AccountChange, describe_tenant};
use crate::{clock, random};

use super::admin_context::{AdminContext, RecordTable, RecordsUse, not_found, require_change};
use super::output::print_once;
use super::{CommandError, usage};

/// How much of standard input is read, in bytes. The longest password is far shorter.
const MAX_INPUT_BYTES: u64 = 64 * 1024;

#[derive(Debug, Subcommand)]
pub(super) enum AccountAction {
    /// Add an account
    #[command(
        after_help = "Example:\n  echo 'correct horse' | peristyle account add --username ana --email ana@example.com --role administrator --password-stdin"
    )]
    Add(Box<AddAccount>),
    /// List accounts
    #[command(after_help = "Example:\n  peristyle account list --limit 20")]
    List {
        /// How many accounts to print
        #[arg(long, default_value_t = 1000, value_parser = usage::count, allow_negative_numbers = true)]
        limit: u32,
        /// How many accounts to skip
        #[arg(long, default_value_t = 0, value_parser = usage::count, allow_negative_numbers = true)]
        offset: u32,
    },
    /// Show one account: its roles, tenants and permissions, without secrets
    #[command(after_help = "Examples:\n  peristyle account show --username ana\n  peristyle account show --username ana --json")]
    Show(AccountSelector),
    /// Change an account; deactivating it ends its sessions and grants
    #[command(after_help = "Example:\n  peristyle account update --username ana --active false")]
    Update(Box<UpdateAccount>),
    /// Remove an account, its sessions and grants
    #[command(after_help = "Example:\n  peristyle account remove --username ana")]
    Remove(AccountName),
    /// Set a password; earlier sessions and grants end
    #[command(after_help = "Example:\n  echo 'correct horse' | peristyle account password --username ana --password-stdin")]
    Password {
        #[command(flatten)]
        account: AccountName,
        #[command(flatten)]
        password: PasswordSource,
    },
    /// Print a one-time link that sets a first password, valid for seven days
    #[command(after_help = "Example:\n  peristyle account invite --username ana")]
    Invite(AccountName),
    /// Print a one-time link that sets a new password, valid for an hour
    #[command(after_help = "Example:\n  peristyle account reset --username ana")]
    Reset(AccountName),
}

impl AccountAction {
    pub(super) fn records_use(&self) -> RecordsUse {
        match self {
            AccountAction::Add(_) => RecordsUse::Add,
            AccountAction::List { .. } | AccountAction::Show(_) => RecordsUse::Read,
            AccountAction::Update(_)
            | AccountAction::Remove(_)
            | AccountAction::Password { .. }
            | AccountAction::Invite(_)
            | AccountAction::Reset(_) => RecordsUse::Change,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct AccountName {
    /// Its username or email
    #[arg(long)]
    username: String,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct AccountSelector {
    /// Its username or email
    #[arg(long)]
    username: Option<String>,
    /// Its id
    #[arg(long, value_parser = usage::id)]
    id: Option<Uuid>,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(super) struct PasswordSource {
    /// Read the password from standard input, to its end
    #[arg(long)]
    password_stdin: bool,
    /// Read a hash of another system (Argon2, bcrypt, scrypt, PBKDF2) from standard input
    #[arg(long)]
    password_hash_stdin: bool,
}

impl PasswordSource {
    /// The hash of the password on standard input; none if no flag was given.
    fn read(&self) -> Result<Option<PasswordHash>, CommandError> {
        if self.password_hash_stdin {
            return Ok(Some(PasswordHash::parse(read_stdin()?.trim())?));
        }
        if self.password_stdin {
            return Ok(Some(PasswordHash::make(&Password::chosen(&read_stdin()?)?, random::bytes()?)?));
        }
        Ok(None)
    }
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("names").args(["username", "email"]).required(true).multiple(true))]
pub(super) struct AddAccount {
    /// Its username; a username, an email or both are needed
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
    /// A JSON object that constraints and apps read
    #[arg(long)]
    meta: Option<String>,
    /// The account is a program, not a person
    #[arg(long)]
    service: bool,
    #[command(flatten)]
    password: PasswordSource,
}

#[derive(Debug, clap::Args)]
pub(super) struct UpdateAccount {
    #[command(flatten)]
    account: AccountName,
    /// Whether it is active: true or false
    #[arg(long, action = clap::ArgAction::Set)]
    active: Option<bool>,
    /// A new email
    #[arg(long)]
    email: Option<String>,
    /// A new username
    #[arg(long)]
    rename: Option<String>,
    /// The name of a role that replaces those it has; repeat for several
    #[arg(long = "role")]
    roles: Vec<String>,
    /// Remove all roles
    #[arg(long, conflicts_with = "roles")]
    no_roles: bool,
    /// The id of a tenant that replaces those it has; repeat for several
    #[arg(long = "tenant", value_parser = usage::id)]
    tenants: Vec<Uuid>,
    /// Remove it from all tenants
    #[arg(long, conflicts_with = "tenants")]
    no_tenants: bool,
    /// A JSON object that replaces the one it has
    #[arg(long)]
    meta: Option<String>,
}

fn to_json(account: &Account) -> Value {
    let tenants: Vec<String> = account.tenants.iter().map(ToString::to_string).collect();
    json!({
        "id": account.id.to_string(), "type": account.kind.as_str(), "username": account.username, "email": account.email,
        "isActive": account.is_active, "dPermissions": account.rights.to_json(), "dTenants": tenants, "meta": account.meta,
    })
}

pub(super) async fn run(context: &AdminContext, action: AccountAction, app_url: &str) -> Result<(), CommandError> {
    let administration = context.administration();
    match action {
        AccountAction::Add(add) => self::add(context, *add).await,
        AccountAction::List { limit, offset } => {
            let accounts = accounts::list(&context.records, limit.into(), offset.into()).await?;
            let line = |account: &Account| {
                let state = if account.is_active { "active" } else { "inactive" };
                format!("{}\t{}\t{}\t{state}", account.id, account.code, account.email.as_deref().unwrap_or("-"))
            };
            context.list("accounts", &accounts, line, to_json)
        }
        AccountAction::Show(selector) => show(context, selector).await,
        AccountAction::Update(update) => self::update(context, *update).await,
        AccountAction::Remove(AccountName { username }) => {
            let account = context.account(&username).await?;
            administration.remove_account(account.id).await?;
            context.print_change(&format!("account {} was removed", account.code), json!({ "removed": account.id.to_string() }))
        }
        AccountAction::Password { account: AccountName { username }, password } => {
            let account = context.account(&username).await?;
            let Some(hash) = password.read()? else {
                return Err(CommandError("--password-stdin or --password-hash-stdin is needed".to_owned()));
            };
            administration.set_password(account.id, &hash).await?;
            context.print_change(&format!("the password of {} was set", account.code), json!({ "id": account.id.to_string() }))
        }
        AccountAction::Invite(AccountName { username }) => link(context, app_url, &username, LinkPurpose::Invitation).await,
        AccountAction::Reset(AccountName { username }) => link(context, app_url, &username, LinkPurpose::Reset).await,
    }
}

async fn show(context: &AdminContext, selector: AccountSelector) -> Result<(), CommandError> {
    let records = &context.records;
    let account = if let Some(name) = selector.username {
        context.account(&name).await?
    } else {
        let id = selector.id.unwrap_or_default();
        let found = accounts::by_id(records, id).await?.filter(|account| account.deleted_at.is_none());
        found.ok_or_else(|| not_found("account", id, ""))?
    };
    let roles = roles::names_of(records, account.id).await?;
    let tenants = tenants::by_ids(records, &account.tenants).await?;
    let password = summaries::password_set_at(records, account.id).await?;
    let sessions = sessions::of_account(records, account.id, None, 1, context.now).await?.all;
    let permissions: Vec<&str> = if account.rights.are_everything() { vec!["everything"] } else { account.rights.all().collect() };
    let tenant_names: Vec<String> = tenants.iter().map(|tenant| format!("{} ({})", tenant.code, tenant.id)).collect();
    let table = RecordTable::default()
        .row("id", account.id)
        .row("code", &account.code)
        .optional("username", account.username.as_deref())
        .optional("email", account.email.as_deref())
        .row("type", account.kind.as_str())
        .flag("active", account.is_active)
        .row("password", password.map_or("not set".to_owned(), |time| format!("set {}", clock::rfc3339(time))))
        .list("roles", &roles)
        .list("tenants", &tenant_names)
        .list("permissions", &permissions)
        .row("sessions", sessions)
        .list("tags", &account.tags)
        .list("scopes", &account.scopes)
        .row("meta", Value::Object(account.meta.clone()))
        .row("created", clock::rfc3339(account.created_at))
        .row("updated", clock::rfc3339(account.updated_at));
    let more = json!({
        "code": account.code, "tags": account.tags, "scopes": account.scopes, "roles": roles, "hasPassword": password.is_some(),
        "tenants": tenants.iter().map(describe_tenant).collect::<Vec<_>>(), "sessions": sessions,
        "createdAt": clock::rfc3339(account.created_at), "updatedAt": clock::rfc3339(account.updated_at),
    });
    context.show(&table, to_json(&account), more)
}

async fn add(context: &AdminContext, add: AddAccount) -> Result<(), CommandError> {
    let password = add.password.read()?;
    let kind = if add.service { AccountKind::Service } else { AccountKind::User };
    let new = AccountChange {
        username: add.username.into(),
        email: add.email.into(),
        roles: Some(add.roles),
        tenants: Some(add.tenants),
        meta: add.meta.as_deref().map(parse_meta).transpose()?,
        ..AccountChange::default()
    };
    let account = context.add(async |administration| administration.create_account(kind, new.clone(), password.as_ref()).await).await?;
    context.print_change(&format!("account {} was added: {}", account.code, account.id), to_json(&account))
}

async fn update(context: &AdminContext, update: UpdateAccount) -> Result<(), CommandError> {
    let account = context.account(&update.account.username).await?;
    let change = AccountChange {
        username: update.rename.into(),
        email: update.email.into(),
        active: update.active,
        roles: (update.no_roles || !update.roles.is_empty()).then_some(update.roles),
        tenants: (update.no_tenants || !update.tenants.is_empty()).then_some(update.tenants),
        meta: update.meta.as_deref().map(parse_meta).transpose()?,
        ..AccountChange::default()
    };
    require_change(&change, "--active, --email, --rename, --role, --no-roles, --tenant, --no-tenants, --meta")?;
    let account = context.administration().update_account(account.id, change).await?;
    context.print_change(&format!("account {} was updated", account.code), to_json(&account))
}

async fn link(context: &AdminContext, app_url: &str, username: &str, purpose: LinkPurpose) -> Result<(), CommandError> {
    let account = context.account(username).await?;
    let token = context.administration().make_link(account.id, purpose).await?;
    let url = format!("{app_url}/password?link={}", *token.expose());
    let object = json!({ "id": account.id.to_string(), "link": url, "expiresIn": purpose.seconds() });
    print_once(&context.output.choose(&url, &object), &format!("a link for {} was made", account.code), "the same command makes another")
}

/// Standard input to its end, without a final newline.
fn read_stdin() -> Result<Zeroizing<String>, CommandError> {
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin().take(MAX_INPUT_BYTES).read_to_string(&mut text);
    read.map_err(|_| CommandError("standard input is not UTF-8".to_owned()))?;
    let line = text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(Zeroizing::new(line.to_owned()))
}

fn parse_meta(text: &str) -> Result<Map<String, Value>, CommandError> {
    // The strict reader refuses a key that stands twice: readers differ in which of the two counts.
    match query::json::strict(text.as_bytes()).ok().and_then(|_| serde_json::from_str(text).ok()) {
        Some(Value::Object(meta)) => Ok(meta),
        _ => Err(CommandError("--meta: a JSON object whose keys are unique is expected, such as '{\"region\": \"north\"}'".to_owned())),
    }
}
