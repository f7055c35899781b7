//! The demo: a hub and a satellite as two children of this process, on SQLite files in a scratch folder, with sample data, people to sign
//! in as and an app to do it in. However it ends, nothing of it is left.

mod app;
mod child;
mod people;
mod progress;
mod shop;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use identity::keys::KeyLength;

use crate::administration;
use crate::boot_error::BootError;
use crate::key_files::{KeyPair, KeyPairError};

pub use child::Log;
pub use people::{Person, Secret};

use child::{Child, Role};
use progress::Progress;

/// The folder of each server in the scratch folder.
const HUB: &str = "hub";
const SATELLITE: &str = "satellite";

/// What a demo is started with.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The hub's port; 0 for any that is free.
    pub hub_port: u16,
    /// The satellite's port; 0 for any that is free.
    pub app_port: u16,
    /// Where the logs of both go.
    pub log: Log,
}

/// What there is to see, once it is there.
#[derive(Debug)]
pub struct Opened {
    /// The address of the hub.
    pub hub: String,
    /// The address of the satellite and its app.
    pub app: String,
    /// Who to sign in as.
    pub people: Vec<Person>,
    /// The id of the satellite's client at the hub.
    pub client: &'static str,
}

/// Why something is not made to its end.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("the demo was asked to end")]
    Asked,
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
    Administration(#[from] administration::Fault),
    #[error("the scratch folder cannot be written: {0}")]
    Unwritten(#[from] std::io::Error),
    #[error("{0}")]
    Boot(#[from] BootError),
    #[error("{0}")]
    Keys(#[from] KeyPairError),
}

/// Whether work is still wanted.
#[derive(Clone, Debug, Default)]
struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<(), Stopped> {
        if self.0.load(Ordering::Relaxed) { Err(Stopped::Asked) } else { Ok(()) }
    }
}

/// Runs a demo until `stop` resolves; `tell` hears when everything is there, and an error of its own ends it. An error says why it ended by itself.
pub async fn run(
    settings: Settings,
    stop: impl Future<Output = ()>,
    tell: impl FnOnce(Opened) -> Result<(), BootError>,
) -> Result<(), BootError> {
    let ports = Ports::find(settings)?;
    let scratch = tempfile::Builder::new().prefix("peristyle-demo-").tempdir();
    let scratch = scratch.map_err(|error| BootError(format!("no scratch folder can be made: {error}")))?;
    let stage = Stage { ports, scratch: scratch.path(), log: settings.log };
    let outcome = stage.play(stop, tell).await;
    let path = scratch.path().to_owned();
    let cleared = scratch.close().map_err(|error| BootError(format!("the scratch folder {} is left behind: {error}", path.display())));
    outcome.and(cleared)
}

/// Where both servers listen.
#[derive(Clone, Copy, Debug)]
struct Ports {
    hub: u16,
    app: u16,
}

impl Ports {
    /// Finds out that both are free before anything is made.
    fn find(settings: Settings) -> Result<Self, BootError> {
        let (hub, app) = (free(settings.hub_port, "--hub-port")?, free(settings.app_port, "--app-port")?);
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        match (port(&hub), port(&app)) {
            (Ok(hub), Ok(app)) => Ok(Ports { hub, app }),
            (Err(error), _) | (_, Err(error)) => Err(BootError(format!("no port can be found: {error}"))),
        }
    }

    /// Where the hub sends a browser back to.
    fn redirect(self) -> String {
        format!("{}/callback", origin(self.app))
    }
}

/// What a demo has to itself.
#[derive(Clone, Copy, Debug)]
struct Stage<'a> {
    ports: Ports,
    scratch: &'a Path,
    log: Log,
}

/// The servers that were started.
#[derive(Debug, Default)]
struct Servers {
    hub: Option<Child>,
    satellite: Option<Child>,
}

impl Servers {
    /// Ends them, the satellite first: while it ends it may still ask the hub.
    async fn end(self) {
        for server in [self.satellite, self.hub].into_iter().flatten() {
            server.end().await;
        }
    }
}

impl Stage<'_> {
    /// Makes everything, serves, and ends everything. Nothing is at work any more when this returns.
    async fn play(self, stop: impl Future<Output = ()>, tell: impl FnOnce(Opened) -> Result<(), BootError>) -> Result<(), BootError> {
        let mut stop = std::pin::pin!(stop);
        let cancelled = Cancelled::default();
        let mut work = tokio::spawn(prepare(self.scratch.to_owned(), self.ports, cancelled.clone()));
        let prepared = tokio::select! {
            prepared = &mut work => prepared,
            () = &mut stop => {
                cancelled.now();
                // It ends soon, and not before the folder can be removed.
                _ = work.await;
                return Ok(());
            }
        };
        let unprepared = |reason: &dyn std::fmt::Display| BootError(format!("the demo cannot be prepared: {reason}"));
        let made = prepared.map_err(|error| unprepared(&error))?.map_err(|stopped| unprepared(&stopped))?;
        let mut servers = Servers::default();
        let outcome = tokio::select! {
            outcome = self.serve(&mut servers, made, tell) => outcome,
            () = stop => Ok(()),
        };
        servers.end().await;
        outcome
    }

    /// Both serve, until one of them ends by itself.
    async fn serve(
        self,
        servers: &mut Servers,
        made: people::Made,
        tell: impl FnOnce(Opened) -> Result<(), BootError>,
    ) -> Result<(), BootError> {
        let hub = servers.hub.insert(Child::start(&self.hub(), self.log)?);
        hub.ready().await?;
        let satellite = servers.satellite.insert(Child::start(&self.satellite(made.secret.expose()), self.log)?);
        tokio::select! {
            ready = satellite.ready() => ready?,
            fault = hub.ended() => return Err(fault),
        }
        let Ports { hub: at, app } = self.ports;
        tell(Opened { hub: origin(at), app: origin(app), people: made.people, client: people::CLIENT })?;
        tokio::select! {
            fault = hub.ended() => Err(fault),
            fault = satellite.ended() => Err(fault),
        }
    }

    fn hub(self) -> Role {
        let variables = vec![
            ("OAUTH_STRATEGY", "local-provider".to_owned()),
            ("DATABASE_URL", "sqlite://hub.db".to_owned()),
            ("LISTEN", format!("127.0.0.1:{}", self.ports.hub)),
        ];
        Role { name: "hub", port: self.ports.hub, folder: self.scratch.join(HUB), variables }
    }

    fn satellite(self, secret: &str) -> Role {
        let variables = vec![
            ("OAUTH_STRATEGY", "platform-hub".to_owned()),
            ("OAUTH_HUB_URL", origin(self.ports.hub)),
            ("OAUTH_CLIENT_ID", people::CLIENT.to_owned()),
            ("OAUTH_CLIENT_SECRET", secret.to_owned()),
            ("OAUTH_REDIRECT_URI", self.ports.redirect()),
            ("DATABASE_URL", "sqlite://shop.db".to_owned()),
            ("PERISTYLE_MANIFEST", "peristyle.toml".to_owned()),
            ("APP_FILES", "app".to_owned()),
            ("LISTEN", format!("127.0.0.1:{}", self.ports.app)),
        ];
        Role { name: "satellite", port: self.ports.app, folder: self.scratch.join(SATELLITE), variables }
    }
}

/// Everything that is there before a server starts.
async fn prepare(scratch: PathBuf, ports: Ports, cancelled: Cancelled) -> Result<people::Made, Stopped> {
    for name in [HUB, SATELLITE] {
        std::fs::create_dir(scratch.join(name))?;
    }
    let place = scratch.clone();
    let files = tokio::task::spawn_blocking(move || files(&place, &cancelled));
    let database = format!("sqlite://{}", scratch.join(HUB).join("hub.db").display());
    let made = people::make(&database, &ports.redirect()).await;
    // Both are waited for, whatever the other came to: nothing may be at work when the folder is removed.
    files.await.map_err(|error| Stopped::Failed(error.to_string()))??;
    made
}

/// Keys, manifest, app and sample data, where both servers look for them by themselves.
fn files(scratch: &Path, cancelled: &Cancelled) -> Result<(), Stopped> {
    for name in [HUB, SATELLITE] {
        KeyPair::make(&scratch.join(name).join(".keys"), KeyLength::Bits2048)?;
        cancelled.check()?;
    }
    let satellite = scratch.join(SATELLITE);
    std::fs::write(satellite.join("peristyle.toml"), shop::MANIFEST)?;
    app::unpack(&satellite.join("app"))?;
    shop::make(&satellite.join("shop.db"), cancelled, &mut Progress::on_standard_error())
}

fn origin(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// A port that nobody listens on; held until both are known to be free, so that they are two.
fn free(port: u16, flag: &str) -> Result<TcpListener, BootError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        let why = if error.kind() == std::io::ErrorKind::AddrInUse { "is taken".to_owned() } else { format!("cannot be used: {error}") };
        BootError(format!("port {port} on 127.0.0.1 {why}; name another one with {flag}"))
    })
}
