//! A server in this process, on a free port.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use identity::grant::RefreshRules;
use identity::strategy::Strategy;
use peristyle::authenticator::Authenticator;
use peristyle::boot_error::BootError;
use peristyle::budget::{BudgetSettings, Budgets};
use peristyle::config::{
    AllowedHosts, Config, ConfigError, Introspection, KeyMode, LogFormat, ManifestPath, SatelliteSettings, TraceSettings,
};
use peristyle::metrics::Metrics;
use peristyle::{AppState, boot};
use peristyle::{listen, router};
use query::policy::Viewer;
use store::DatabaseSettings;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Database, Request, Response};

/// The settings of a server.
#[derive(Debug)]
pub struct Setup {
    pub manifest: String,
    pub viewer: Option<Viewer>,
    pub database: DatabaseSettings,
    pub read_url: Option<String>,
    pub read_max_lag: Option<Duration>,
    pub cors: Vec<String>,
    pub introspection: Introspection,
    /// The key file of a hub or a satellite; without one the strategy is `none`.
    pub key: Option<std::path::PathBuf>,
    /// The settings of a satellite.
    pub satellite: Option<SatelliteSettings>,
    pub redis_url: Option<String>,
    pub app_url: Option<String>,
    pub refresh: RefreshRules,
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// The folder with the files of an app.
    pub app: Option<std::path::PathBuf>,
    /// The listener that the configuration names; the server of a test listens on this machine alone.
    pub listen: SocketAddr,
    pub budget: BudgetSettings,
    pub max_rows: Option<u64>,
    pub slow_statement: Option<Duration>,
    pub traces: Option<TraceSettings>,
}

impl Setup {
    pub fn new(manifest: &str) -> Self {
        Setup {
            manifest: manifest.to_owned(),
            viewer: None,
            database: DatabaseSettings { pool: 4, ..DatabaseSettings::default() },
            read_url: None,
            read_max_lag: None,
            cors: Vec::new(),
            introspection: Introspection::On,
            key: None,
            satellite: None,
            redis_url: None,
            app_url: None,
            refresh: RefreshRules::default(),
            trusted_proxies: Vec::new(),
            app: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            budget: BudgetSettings { memory: 1 << 30, max_connections: None, max_connections_per_address: None },
            max_rows: None,
            slow_statement: None,
            traces: None,
        }
    }

    /// Treats each caller as an account with these permissions.
    pub fn viewer(mut self, permissions: &[&str]) -> Self {
        let account = serde_json::json!({ "id": "77777777-7777-4777-8777-777777777777" });
        self.viewer = Some(Viewer::new(permissions.iter().map(|&permission| permission.to_owned()), account));
        self
    }

    pub fn pool(mut self, pool: usize) -> Self {
        self.database.pool = pool;
        self
    }

    fn config(&self, url: &str, manifest: ManifestPath) -> Config {
        let listen = self.listen;
        Config {
            strategy: match (&self.key, &self.satellite) {
                (None, _) => Strategy::None,
                (Some(_), None) => Strategy::LocalProvider,
                (Some(_), Some(_)) => Strategy::PlatformHub,
            },
            private_key_path: self.key.clone().unwrap_or_else(|| ".keys/oauth-private.key".into()),
            key_mode: KeyMode::Warn,
            satellite: self.satellite.clone().ok_or_else(|| ConfigError::missing("OAUTH_HUB_URL").into()),
            redis_url: self.redis_url.clone(),
            refresh: self.refresh,
            database_url: url.to_owned(),
            database_read_url: self.read_url.clone(),
            database_read_max_lag: self.read_max_lag,
            database_write_url: None,
            database: self.database,
            manifest,
            listen,
            app_url: self.app_url.clone().unwrap_or_else(|| format!("http://{listen}")),
            app_files: self.app.clone(),
            cors_origins: self.cors.clone(),
            trusted_proxies: self.trusted_proxies.clone(),
            allowed_hosts: AllowedHosts::ANY,
            budget: self.budget,
            metrics_listen: None,
            max_rows: self.max_rows,
            slow_statement: self.slow_statement,
            traces: self.traces.clone(),
            pid_file: None,
            graphql_introspection: self.introspection,
            log: "info".to_owned(),
            log_format: LogFormat::Text,
        }
    }

    /// Boots without listening.
    pub async fn boot(&self, url: &str) -> Result<(AppState, Config), BootError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("peristyle.toml");
        std::fs::write(&path, &self.manifest).expect("a manifest");
        let config = self.config(url, ManifestPath::Named(path));
        let mut state = boot::boot(&config).await?;
        if let Some(viewer) = &self.viewer {
            state.authenticator = Authenticator::fixed(viewer.clone());
        }
        Ok((state, config))
    }

    /// Serves the database of a DSN.
    pub async fn serve_at(&self, url: &str) -> Server {
        let (state, config) = self.boot(url).await.unwrap_or_else(|error| panic!("{error}"));
        let metrics = Arc::<Metrics>::default();
        let (authenticator, budgets) = (state.authenticator.clone(), state.queries.budgets.clone());
        Server::start(router::router(state, &config, metrics.clone()), (&config, authenticator, budgets), metrics)
    }

    pub async fn serve(&self, database: &Database) -> Server {
        self.serve_at(&database.url).await
    }
}

#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    pub metrics: Arc<Metrics>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// The answer at `/metrics`.
    pub fn metrics_text(&self) -> String {
        self.metrics.text()
    }

    /// Serves any tower service.
    pub fn start<S>(served: S, (config, authenticator, budgets): (&Config, Authenticator, Budgets), metrics: Arc<Metrics>) -> Self
    where
        S: tower::Service<axum::extract::Request, Response = axum::response::Response, Error = Infallible, Future: Send>,
        S: Clone + Send + 'static,
    {
        let listener = listen::bind(config.listen).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move {
            _ = stopped.await;
            authenticator.retire();
        };
        let task = tokio::spawn(listen::serve(listener, served, listen::Limits::new(&budgets, config), stopped));
        Server { address, metrics, stop, task }
    }

    pub async fn send(&self, request: &Request) -> Response {
        request.send(self.address).await
    }

    pub async fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Response {
        super::post(path, body).send(self.address).await
    }

    pub async fn get(&self, path: &str) -> Response {
        super::get(path).send(self.address).await
    }

    /// Stops the server and waits for its end.
    pub async fn stop(self) {
        _ = self.stop.send(());
        self.task.await.expect("the server stops without a panic");
    }
}
