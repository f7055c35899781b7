//! Every operation of administration, and its input.

use identity::lifetime::{MAX_REFRESH_SECONDS, MAX_TOKEN_SECONDS};

use super::FieldKind::{Boolean, Object, Seconds, String, Strings};
use super::{FieldKind, InputField, Operation, OperationAnswer, OperationTarget, StringFormat};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdminAction {
    CreateAccount,
    UpdateAccount,
    DeleteAccount,
    InviteAccount,
    ResetAccount,
    SetAccountPassword,
    EndAccountSessions,
    EndSession,
    CreateRole,
    UpdateRole,
    DeleteRole,
    CreateTenant,
    UpdateTenant,
    DeleteTenant,
    CreateClient,
    UpdateClient,
    RotateClientSecret,
    DeleteClient,
    CreateApp,
    UpdateApp,
    DeleteApp,
    CreateAppAccount,
    DeleteAppAccount,
}

const fn field(name: &'static str, kind: FieldKind, description: &'static str) -> InputField {
    InputField { name, kind, required: false, nullable: matches!(kind, Strings(_) | Object), description }
}

impl InputField {
    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }
}

const NAME: InputField = field("name", String(StringFormat::Name), "The display name");
const CODE: InputField = field("code", String(StringFormat::Name), "A unique, readable code");

const PASSWORD: InputField = field("password", String(StringFormat::Password), "The password: at least 8 characters, at most 1024 bytes");
const PASSWORD_HASH: InputField = field(
    "passwordHash",
    String(StringFormat::PasswordHash),
    "Instead of a password, a hash of another system: Argon2, bcrypt, scrypt or PBKDF2",
);
const ACCOUNT_TYPE: InputField = field("type", String(StringFormat::AccountType), "A person or a program; by default a person");
const USERNAME: InputField = field("username", String(StringFormat::Username), "A name to sign in with").nullable();
const EMAIL: InputField = field("email", String(StringFormat::Email), "An email to sign in with").nullable();
const ACCOUNT_CODE: InputField = field("code", String(StringFormat::Name), "A unique, readable code for lists; by default the username");
const TAGS: InputField = field("tags", Strings(StringFormat::Name), "Labels; they replace those it has");
const SCOPES: InputField = field("scopes", Strings(StringFormat::Name), "Scopes, which grant nothing; they replace those it has");
const ROLES: InputField = field("roles", Strings(StringFormat::Role), "Names or ids of roles; they replace those it has");
const TENANTS: InputField =
    field("tenants", Strings(StringFormat::Uuid), "Ids of tenants; they replace those it has, and a missing tenant is created");
const META: InputField =
    field("meta", Object, "An object that constraints and apps read; it replaces the one it has. At most 16 KiB and 8 levels");
const IS_ACTIVE: InputField = field("isActive", Boolean, "Whether it is active; false ends its sessions and grants");

const ACCESS_SECONDS: InputField =
    field("accessTokenSeconds", Seconds(MAX_TOKEN_SECONDS), "How many seconds access tokens are valid; by default 3600");
const REFRESH_SECONDS: InputField =
    field("refreshTokenSeconds", Seconds(MAX_REFRESH_SECONDS), "How many seconds refresh tokens are valid; by default 2592000");
const CLIENT_ID: InputField = field("id", String(StringFormat::ClientId), "Its client_id: a readable code that is not a UUID").required();
const REDIRECT: InputField = field("redirect", String(StringFormat::Redirect), "The redirect URI, where authorization codes are sent");
const GRANTS: InputField =
    field("grants", Strings(StringFormat::Grant), "Its grant types; by default authorization_code and refresh_token");
const ADMINISTERS: InputField = field("administers", Boolean, "Whether its access tokens can change the hub's records; by default false");
const CLIENT_APP: InputField = field("appId", String(StringFormat::Uuid), "The app it belongs to");

const ROLE_NAME: InputField = field("name", String(StringFormat::Name), "A unique name");
const DESCRIPTION: InputField = field("description", String(StringFormat::Name), "The purpose of the role").nullable();
const PERMISSIONS: InputField =
    field("permissions", Strings(StringFormat::Permission), "Permissions, each context.resource.action; they replace those it has");
const URL: InputField = field("url", String(StringFormat::Url), "The URL of the app").nullable();
const IS_CLOSED: InputField = field("isClosed", Boolean, "Whether only listed accounts can sign in to it");

const fn operation(
    action: AdminAction,
    resource: &'static str,
    verb: &'static str,
    permission: &'static str,
    summary: &'static str,
) -> Operation {
    let (part, target, fields, answer) = ("", OperationTarget::RecordById, [].as_slice(), OperationAnswer::Deleted);
    Operation { action, resource, verb, part, permission, target, fields, answer, summary }
}

impl Operation {
    const fn creates(mut self, fields: &'static [InputField]) -> Self {
        self.target = OperationTarget::NewRecord;
        self.takes(fields)
    }

    const fn takes(mut self, fields: &'static [InputField]) -> Self {
        self.fields = fields;
        self.answers(OperationAnswer::Record)
    }

    const fn answers(mut self, answer: OperationAnswer) -> Self {
        self.answer = answer;
        self
    }

    const fn part(mut self, part: &'static str) -> Self {
        self.part = part;
        self
    }
}

pub(crate) static OPERATIONS: &[Operation] = &[
    operation(
        AdminAction::CreateAccount,
        "iam.account",
        "create",
        "iam.account.create",
        "Creates an account with a username, an email or both",
    )
    .creates(&[ACCOUNT_TYPE, USERNAME, EMAIL, ACCOUNT_CODE, TAGS, SCOPES, ROLES, TENANTS, META, PASSWORD, PASSWORD_HASH]),
    operation(AdminAction::UpdateAccount, "iam.account", "update", "iam.account.update", "Changes an account; omitted fields stay")
        .takes(&[USERNAME, EMAIL, ACCOUNT_CODE, IS_ACTIVE, TAGS, SCOPES, ROLES, TENANTS, META]),
    operation(AdminAction::DeleteAccount, "iam.account", "delete", "iam.account.delete", "Removes an account, its sessions and grants"),
    operation(
        AdminAction::InviteAccount,
        "iam.account",
        "invite",
        "iam.account.update",
        "Creates a one-time link that sets a first password, valid for seven days; earlier links end",
    )
    .answers(OperationAnswer::Link),
    operation(
        AdminAction::ResetAccount,
        "iam.account",
        "reset",
        "iam.account.update",
        "Creates a one-time link that sets a new password, valid for an hour; earlier links end",
    )
    .answers(OperationAnswer::Link),
    operation(AdminAction::SetAccountPassword, "iam.account", "set", "iam.account.update", "Sets a password; sessions and grants end")
        .part("Password")
        .takes(&[PASSWORD, PASSWORD_HASH]),
    operation(AdminAction::EndAccountSessions, "iam.account", "end", "iam.session.delete", "Ends all sessions and grants of an account")
        .part("Sessions")
        .answers(OperationAnswer::Ended),
    operation(AdminAction::EndSession, "iam.session", "end", "iam.session.delete", "Ends one session and its grants")
        .answers(OperationAnswer::Ended),
    operation(AdminAction::CreateRole, "iam.role", "create", "iam.role.create", "Creates a role of permissions that the caller holds")
        .creates(&[ROLE_NAME.required(), DESCRIPTION, PERMISSIONS]),
    operation(AdminAction::UpdateRole, "iam.role", "update", "iam.role.update", "Changes a role, and the rights of all its accounts")
        .takes(&[ROLE_NAME, DESCRIPTION, PERMISSIONS]),
    operation(AdminAction::DeleteRole, "iam.role", "delete", "iam.role.delete", "Removes a role from all its accounts"),
    operation(AdminAction::CreateTenant, "iam.tenant", "create", "iam.tenant.create", "Creates a tenant").creates(&[
        NAME.required(),
        field("code", String(StringFormat::Name), "A unique, readable code; by default the name"),
        field("id", String(StringFormat::Uuid), "Its id, if its data already has one"),
    ]),
    operation(AdminAction::UpdateTenant, "iam.tenant", "update", "iam.tenant.update", "Changes a tenant").takes(&[NAME, CODE]),
    operation(AdminAction::DeleteTenant, "iam.tenant", "delete", "iam.tenant.delete", "Removes a tenant from all its accounts"),
    operation(
        AdminAction::CreateClient,
        "oAuth.client",
        "create",
        "oAuth.client.create",
        "Creates a client; only this answer shows its secret",
    )
    .creates(&[CLIENT_ID, NAME.required(), REDIRECT.required(), GRANTS, ACCESS_SECONDS, REFRESH_SECONDS, ADMINISTERS, CLIENT_APP])
    .answers(OperationAnswer::ClientSecret),
    operation(AdminAction::UpdateClient, "oAuth.client", "update", "oAuth.client.update", "Changes a client; omitted fields stay")
        .takes(&[NAME, REDIRECT, GRANTS, ACCESS_SECONDS, REFRESH_SECONDS, IS_ACTIVE, ADMINISTERS, CLIENT_APP]),
    operation(
        AdminAction::RotateClientSecret,
        "oAuth.client",
        "rotate",
        "oAuth.client.update",
        "Renews the secret of a client; only this answer shows it. The old secret stays valid for one more day",
    )
    .part("Secret")
    .answers(OperationAnswer::ClientSecret),
    operation(AdminAction::DeleteClient, "oAuth.client", "delete", "oAuth.client.delete", "Removes a client and its grants"),
    operation(AdminAction::CreateApp, "hub.app", "create", "hub.app.create", "Creates an app").creates(&[
        CODE.required(),
        field("name", String(StringFormat::Name), "The display name; by default the code"),
        URL,
        IS_CLOSED,
    ]),
    operation(AdminAction::UpdateApp, "hub.app", "update", "hub.app.update", "Changes an app; omitted fields stay")
        .takes(&[CODE, NAME, URL, IS_CLOSED]),
    operation(AdminAction::DeleteApp, "hub.app", "delete", "hub.app.delete", "Removes an app; each of its clients gets an app of its own"),
    operation(AdminAction::CreateAppAccount, "hub.appAccount", "create", "hub.appAccount.create", "Adds an account to the list of an app")
        .creates(&[
            field("appId", String(StringFormat::Uuid), "The app").required(),
            field("accountId", String(StringFormat::Uuid), "The account").required(),
        ]),
    operation(
        AdminAction::DeleteAppAccount,
        "hub.appAccount",
        "delete",
        "hub.appAccount.delete",
        "Removes an account from the list of an app, by the id of the list row",
    ),
];
