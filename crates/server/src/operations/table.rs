//! Every operation of administration, and what it takes.

use identity::lifetime::MAX_REFRESH_SECONDS;
use identity::lifetime::MAX_TOKEN_SECONDS;

use super::{Answer, Field, Kind, Need, Operation, Target, Text};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
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

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, need: Need::Required, about }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, need: Need::Optional, about }
}

const PASSWORD: Field = optional("password", Kind::Text(Text::Password), "The password: 8 characters at least, 1024 bytes at most");
const PASSWORD_HASH: Field = optional(
    "passwordHash",
    Kind::Text(Text::PasswordHash),
    "In place of a password, a hash from elsewhere: Argon2, bcrypt, scrypt or PBKDF2",
);
const USERNAME: Field = optional("username", Kind::Text(Text::Username), "A name to sign in with");
const EMAIL: Field = optional("email", Kind::Text(Text::Email), "An email to sign in with");
const ACCOUNT_CODE: Field = optional("code", Kind::Text(Text::Name), "A readable name for lists, unique; the username when left out");
const TAGS: Field = optional("tags", Kind::Texts(Text::Name), "Labels, in place of those it has");
const SCOPES: Field = optional("scopes", Kind::Texts(Text::Name), "Scopes that are shown and grant nothing, in place of those it has");
const ROLES: Field = optional("roles", Kind::Texts(Text::Role), "Names or ids of roles, in place of those it has");
const TENANTS: Field = optional("tenants", Kind::Texts(Text::Uuid), "Ids of tenants, in place of those it has; a new one is made");
const META: Field = optional("meta", Kind::Object, "What constraints and apps read, in place of what it has: at most 16 KiB and 8 levels");
const IS_ACTIVE: Field = optional("isActive", Kind::Flag, "Whether it can be used; false ends what it was granted");

const ACCESS_SECONDS: Field =
    optional("accessTokenSeconds", Kind::Seconds(MAX_TOKEN_SECONDS), "How long access tokens live; 3600 when left out");
const REFRESH_SECONDS: Field =
    optional("refreshTokenSeconds", Kind::Seconds(MAX_REFRESH_SECONDS), "How long refresh tokens live; 2592000 when left out");
const GRANTS: Field = optional("grants", Kind::Texts(Text::Grant), "What it may do; the first two when it is made without");
const ADMINISTERS: Field =
    optional("administers", Kind::Flag, "Whether its tokens may change the hub's records; no when it is made without");
const CLIENT_APP: Field = optional("appId", Kind::Text(Text::Uuid), "The app it belongs to");

const DESCRIPTION: Field = optional("description", Kind::Text(Text::Name), "What it is for");
const PERMISSIONS: Field =
    optional("permissions", Kind::Texts(Text::Permission), "What it holds, in place of what it held: context.resource.action");
const URL: Field = optional("url", Kind::Text(Text::Address), "Where it is");
const IS_CLOSED: Field = optional("isClosed", Kind::Flag, "Whether only listed accounts can sign in to it");

const fn operation(action: Action, (resource, verb): (&'static str, &'static str), permission: &'static str) -> Operation {
    let (part, target, fields, answer, about) = ("", Target::ById, [].as_slice(), Answer::Deleted, "");
    Operation { action, resource, verb, part, permission, target, fields, answer, about }
}

impl Operation {
    const fn makes(mut self, fields: &'static [Field], answer: Answer) -> Self {
        self.target = Target::New;
        self.fields = fields;
        self.answer = answer;
        self
    }

    const fn takes(mut self, fields: &'static [Field]) -> Self {
        self.fields = fields;
        self.answer = Answer::Record;
        self
    }

    const fn answers(mut self, answer: Answer) -> Self {
        self.answer = answer;
        self
    }

    const fn part(mut self, part: &'static str) -> Self {
        self.part = part;
        self
    }

    const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }
}

/// Every operation there is.
pub(crate) static OPERATIONS: &[Operation] = &[
    operation(Action::CreateAccount, ("iam.account", "create"), "iam.account.create")
        .makes(
            &[
                optional("type", Kind::Text(Text::AccountType), "A person or a program; a person when left out"),
                USERNAME,
                EMAIL,
                ACCOUNT_CODE,
                TAGS,
                SCOPES,
                ROLES,
                TENANTS,
                META,
                PASSWORD,
                PASSWORD_HASH,
            ],
            Answer::Record,
        )
        .about("Makes an account, which has a username, an email or both"),
    operation(Action::UpdateAccount, ("iam.account", "update"), "iam.account.update")
        .takes(&[USERNAME, EMAIL, ACCOUNT_CODE, IS_ACTIVE, TAGS, SCOPES, ROLES, TENANTS, META])
        .about("Changes an account; what is left out stays"),
    operation(Action::DeleteAccount, ("iam.account", "delete"), "iam.account.delete").about("Removes an account, its sessions and grants"),
    operation(Action::InviteAccount, ("iam.account", "invite"), "iam.account.update")
        .answers(Answer::Link)
        .about("Makes a one-time link that sets a first password, for seven days; an earlier link ends"),
    operation(Action::ResetAccount, ("iam.account", "reset"), "iam.account.update")
        .answers(Answer::Link)
        .about("Makes a one-time link that sets a new password, for an hour; an earlier link ends"),
    operation(Action::SetAccountPassword, ("iam.account", "set"), "iam.account.update")
        .part("Password")
        .takes(&[PASSWORD, PASSWORD_HASH])
        .about("Sets a password; sessions and grants end"),
    operation(Action::EndAccountSessions, ("iam.account", "end"), "iam.session.delete")
        .part("Sessions")
        .answers(Answer::Ended)
        .about("Ends every session and every grant of an account"),
    operation(Action::EndSession, ("iam.session", "end"), "iam.session.delete")
        .answers(Answer::Ended)
        .about("Ends one session and what came out of it"),
    operation(Action::CreateRole, ("iam.role", "create"), "iam.role.create")
        .makes(&[required("name", Kind::Text(Text::Name), "What people call it; unique"), DESCRIPTION, PERMISSIONS], Answer::Record)
        .about("Makes a role of permissions that the caller holds"),
    operation(Action::UpdateRole, ("iam.role", "update"), "iam.role.update")
        .takes(&[optional("name", Kind::Text(Text::Name), "What people call it; unique"), DESCRIPTION, PERMISSIONS])
        .about("Changes a role, and with it the rights of everybody who holds it"),
    operation(Action::DeleteRole, ("iam.role", "delete"), "iam.role.delete").about("Removes a role from everybody who holds it"),
    operation(Action::CreateTenant, ("iam.tenant", "create"), "iam.tenant.create")
        .makes(
            &[
                required("name", Kind::Text(Text::Name), "What people call it"),
                optional("code", Kind::Text(Text::Name), "A readable name that is unique; the name when left out"),
                optional("id", Kind::Text(Text::Uuid), "Its id, where its data has one already"),
            ],
            Answer::Record,
        )
        .about("Makes a tenant"),
    operation(Action::UpdateTenant, ("iam.tenant", "update"), "iam.tenant.update")
        .takes(&[
            optional("name", Kind::Text(Text::Name), "What people call it"),
            optional("code", Kind::Text(Text::Name), "A readable name that is unique"),
        ])
        .about("Changes a tenant"),
    operation(Action::DeleteTenant, ("iam.tenant", "delete"), "iam.tenant.delete")
        .about("Removes a tenant from everybody who belongs to it"),
    operation(Action::CreateClient, ("oAuth.client", "create"), "oAuth.client.create")
        .makes(
            &[
                required("id", Kind::Text(Text::ClientId), "Its client_id: a readable code, and no uuid"),
                required("name", Kind::Text(Text::Name), "What people call it"),
                required("redirect", Kind::Text(Text::Redirect), "The one address that codes go to"),
                GRANTS,
                ACCESS_SECONDS,
                REFRESH_SECONDS,
                ADMINISTERS,
                CLIENT_APP,
            ],
            Answer::Secret,
        )
        .about("Makes a client; its secret is shown in this answer and never again"),
    operation(Action::UpdateClient, ("oAuth.client", "update"), "oAuth.client.update")
        .takes(&[
            optional("name", Kind::Text(Text::Name), "What people call it"),
            optional("redirect", Kind::Text(Text::Redirect), "The one address that codes go to"),
            GRANTS,
            ACCESS_SECONDS,
            REFRESH_SECONDS,
            IS_ACTIVE,
            ADMINISTERS,
            CLIENT_APP,
        ])
        .about("Changes a client; what is left out stays"),
    operation(Action::RotateClientSecret, ("oAuth.client", "rotate"), "oAuth.client.update")
        .part("Secret")
        .answers(Answer::Secret)
        .about("Gives a client a new secret, shown in this answer and never again; the old one counts for a day more"),
    operation(Action::DeleteClient, ("oAuth.client", "delete"), "oAuth.client.delete").about("Removes a client and all it was granted"),
    operation(Action::CreateApp, ("hub.app", "create"), "hub.app.create")
        .makes(
            &[
                required("code", Kind::Text(Text::Name), "A readable name that is unique"),
                optional("name", Kind::Text(Text::Name), "What people call it; the code when left out"),
                URL,
                IS_CLOSED,
            ],
            Answer::Record,
        )
        .about("Makes an app"),
    operation(Action::UpdateApp, ("hub.app", "update"), "hub.app.update")
        .takes(&[
            optional("code", Kind::Text(Text::Name), "A readable name that is unique"),
            optional("name", Kind::Text(Text::Name), "What people call it"),
            URL,
            IS_CLOSED,
        ])
        .about("Changes an app; what is left out stays"),
    operation(Action::DeleteApp, ("hub.app", "delete"), "hub.app.delete")
        .about("Removes an app; its clients get apps of their own, closed if it was"),
    operation(Action::CreateAppAccount, ("hub.appAccount", "create"), "hub.appAccount.create")
        .makes(
            &[required("appId", Kind::Text(Text::Uuid), "The app"), required("accountId", Kind::Text(Text::Uuid), "The account")],
            Answer::Record,
        )
        .about("Lists an account for an app"),
    operation(Action::DeleteAppAccount, ("hub.appAccount", "delete"), "hub.appAccount.delete")
        .about("Takes an account off the list of an app, by the id of its row"),
];
