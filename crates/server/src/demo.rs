//! The demo: a hub and a satellite as two child processes, with sample data in a temporary folder that is removed at the end.

mod accounts;
mod progress;
mod server_process;
mod shop;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use identity::keys::KeyLength;

use crate::administration;
use crate::boot_error::BootError;
use crate::key_files::{KeyPair, KeyPairError};

pub use accounts::DemoAccount;
pub use server_process::LogOutput;

use accounts::HubSetup;
use progress::Progress;
use server_process::{ServerProcess, ServerSpec};

const HUB: &str = "hub";
const SATELLITE: &str = "satellite";

macro_rules! files {
    ($($name:literal)+) => { [$(($name, include_str!(concat!("../../../examples/app/", $name)))),+] };
}

/// The example app, which the satellite serves.
const APP_FILES: [(&str, &str); 20] = files! {
    "account.js" "api.js" "chart.js" "dom.js" "filters.js" "format.js" "index.html" "inspector.js" "list.js"
    "main.js" "mark.svg" "order.js" "problem.js" "resources.js" "router.js" "session.js" "statement.js" "style.css"
    "table.js" "tokens.js"
};

#[derive(Clone, Copy, Debug)]
pub struct DemoSettings {
    /// 0 is any free port.
    pub hub_port: u16,
    /// The port of the satellite; 0 is any free port.
    pub app_port: u16,
    pub log: LogOutput,
}

#[derive(Debug)]
pub struct RunningDemo {
    pub hub: String,
    pub app: String,
    pub accounts: Vec<DemoAccount>,
    pub client: &'static str,
}

#[derive(Debug, thiserror::Error)]
enum PrepareError {
    #[error("the demo was stopped")]
    Cancelled,
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
    Administration(#[from] administration::AdminError),
    #[error("the temporary folder cannot be written: {0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Boot(#[from] BootError),
    #[error("{0}")]
    Keys(#[from] KeyPairError),
}

#[derive(Clone, Debug, Default)]
struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<(), PrepareError> {
        if self.0.load(Ordering::Relaxed) { Err(PrepareError::Cancelled) } else { Ok(()) }
    }
}

/// Runs a demo until `stop` resolves. Calls `on_ready` when both servers are ready; an error of it ends the demo.
pub async fn run(
    settings: DemoSettings,
    stop: impl Future<Output = ()>,
    on_ready: impl FnOnce(RunningDemo) -> Result<(), BootError>,
) -> Result<(), BootError> {
    let ports = Ports::find(settings)?;
    let scratch = tempfile::Builder::new().prefix("peristyle-demo-").tempdir();
    let scratch = scratch.map_err(|error| BootError(format!("no temporary folder can be created: {error}")))?;
    let demo = Demo { ports, scratch: scratch.path(), log: settings.log };
    let outcome = demo.run(stop, on_ready).await;
    let path = scratch.path().to_owned();
    let removed =
        scratch.close().map_err(|error| BootError(format!("the temporary folder {} could not be removed: {error}", path.display())));
    outcome.and(removed)
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    hub: u16,
    app: u16,
}

impl Ports {
    /// Checks that both ports are free before anything is created.
    fn find(settings: DemoSettings) -> Result<Self, BootError> {
        let (hub, app) = (bind(settings.hub_port, "--hub-port")?, bind(settings.app_port, "--app-port")?);
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        match (port(&hub), port(&app)) {
            (Ok(hub), Ok(app)) => Ok(Ports { hub, app }),
            (Err(error), _) | (_, Err(error)) => Err(BootError(format!("no free port: {error}"))),
        }
    }

    fn redirect_uri(self) -> String {
        format!("{}/callback", origin(self.app))
    }
}

#[derive(Clone, Copy, Debug)]
struct Demo<'a> {
    ports: Ports,
    scratch: &'a Path,
    log: LogOutput,
}

#[derive(Debug, Default)]
struct Servers {
    hub: Option<ServerProcess>,
    satellite: Option<ServerProcess>,
}

impl Servers {
    /// Stops the satellite first: it may still need the hub.
    async fn stop(self) {
        for server in [self.satellite, self.hub].into_iter().flatten() {
            server.stop().await;
        }
    }
}

impl Demo<'_> {
    /// Prepares, serves and stops. No task runs any more when this returns.
    async fn run(
        self,
        stop: impl Future<Output = ()>,
        on_ready: impl FnOnce(RunningDemo) -> Result<(), BootError>,
    ) -> Result<(), BootError> {
        let mut stop = std::pin::pin!(stop);
        let cancellation = Cancellation::default();
        let mut work = tokio::spawn(prepare(self.scratch.to_owned(), self.ports, cancellation.clone()));
        let prepared = tokio::select! {
            prepared = &mut work => prepared,
            () = &mut stop => {
                cancellation.cancel();
                // Wait for the task, so that the folder can be removed.
                _ = work.await;
                return Ok(());
            }
        };
        let not_prepared = |reason: &dyn std::fmt::Display| BootError(format!("the demo cannot be prepared: {reason}"));
        let setup = prepared.map_err(|error| not_prepared(&error))?.map_err(|error| not_prepared(&error))?;
        let mut servers = Servers::default();
        let outcome = tokio::select! {
            outcome = self.serve(&mut servers, setup, on_ready) => outcome,
            () = stop => Ok(()),
        };
        servers.stop().await;
        outcome
    }

    /// Starts both servers, and waits until one of them ends unexpectedly.
    async fn serve(
        self,
        servers: &mut Servers,
        setup: HubSetup,
        on_ready: impl FnOnce(RunningDemo) -> Result<(), BootError>,
    ) -> Result<(), BootError> {
        let hub = servers.hub.insert(ServerProcess::start(&self.hub(), self.log)?);
        hub.ready().await?;
        let satellite = servers.satellite.insert(ServerProcess::start(&self.satellite(setup.client_secret.expose()), self.log)?);
        tokio::select! {
            ready = satellite.ready() => ready?,
            fault = hub.ended() => return Err(fault),
        }
        let (hub_url, app_url) = (origin(self.ports.hub), origin(self.ports.app));
        on_ready(RunningDemo { hub: hub_url, app: app_url, accounts: setup.accounts, client: accounts::CLIENT })?;
        tokio::select! {
            fault = hub.ended() => Err(fault),
            fault = satellite.ended() => Err(fault),
        }
    }

    fn hub(self) -> ServerSpec {
        let variables = vec![
            ("OAUTH_STRATEGY", "local-provider".to_owned()),
            ("DATABASE_URL", "sqlite://hub.db".to_owned()),
            ("LISTEN", format!("127.0.0.1:{}", self.ports.hub)),
        ];
        ServerSpec { name: "hub", port: self.ports.hub, folder: self.scratch.join(HUB), variables }
    }

    fn satellite(self, secret: &str) -> ServerSpec {
        let variables = vec![
            ("OAUTH_STRATEGY", "platform-hub".to_owned()),
            ("OAUTH_HUB_URL", origin(self.ports.hub)),
            ("OAUTH_CLIENT_ID", accounts::CLIENT.to_owned()),
            ("OAUTH_CLIENT_SECRET", secret.to_owned()),
            ("OAUTH_REDIRECT_URI", self.ports.redirect_uri()),
            ("DATABASE_URL", "sqlite://shop.db".to_owned()),
            ("PERISTYLE_MANIFEST", "peristyle.toml".to_owned()),
            ("APP_FILES", "app".to_owned()),
            ("LISTEN", format!("127.0.0.1:{}", self.ports.app)),
        ];
        ServerSpec { name: "satellite", port: self.ports.app, folder: self.scratch.join(SATELLITE), variables }
    }
}

async fn prepare(scratch: PathBuf, ports: Ports, cancellation: Cancellation) -> Result<HubSetup, PrepareError> {
    for name in [HUB, SATELLITE] {
        std::fs::create_dir(scratch.join(name))?;
    }
    let folder = scratch.clone();
    let files = tokio::task::spawn_blocking(move || create_files(&folder, &cancellation));
    let database = format!("sqlite://{}", scratch.join(HUB).join("hub.db").display());
    let setup = accounts::create(&database, &ports.redirect_uri()).await;
    // Wait for both, even if one failed: no task may run when the folder is removed.
    files.await.map_err(|error| PrepareError::Failed(error.to_string()))??;
    setup
}

/// Creates keys, manifest, app and sample data at the default paths of both servers.
fn create_files(scratch: &Path, cancellation: &Cancellation) -> Result<(), PrepareError> {
    for name in [HUB, SATELLITE] {
        KeyPair::make(&scratch.join(name).join(".keys"), KeyLength::Bits2048)?;
        cancellation.check()?;
    }
    let satellite = scratch.join(SATELLITE);
    std::fs::write(satellite.join("peristyle.toml"), shop::MANIFEST)?;
    unpack_app(&satellite.join("app"))?;
    let mut progress = Progress::on_standard_error();
    let rows = shop::create(&satellite.join("shop.db"), cancellation, |percent, rows| progress.show(percent, rows))?;
    progress.finish(rows);
    Ok(())
}

fn unpack_app(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    APP_FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}

fn origin(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// Binds a free port. Both are held until both are found, so that they differ.
fn bind(port: u16, flag: &str) -> Result<TcpListener, BootError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        let why = if error.kind() == std::io::ErrorKind::AddrInUse { "is in use".to_owned() } else { format!("cannot be used: {error}") };
        BootError(format!("{flag}: port {port} on 127.0.0.1 {why}; choose another port"))
    })
}
