//! A private PostgreSQL cluster that one test can kill.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::variable;

/// A cluster with durable commits. Dropping it stops and removes it.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    binaries: PathBuf,
    port: u16,
}

/// A command that runs as the user postgres.
fn as_postgres(program: PathBuf) -> Command {
    let user = Command::new("id").arg("-u").output().expect("id runs");
    let mut command = if user.stdout == b"0\n" {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Cluster {
    /// A cluster of the version that the tests run on.
    pub(crate) fn start() -> Self {
        Cluster::of("PERISTYLE_TEST_PROGRAMS")
    }

    /// A cluster of a version that is too old.
    pub(crate) fn start_refused() -> Self {
        Cluster::of("PERISTYLE_TEST_REFUSED_PROGRAMS")
    }

    /// A cluster of the programs in the folder that the variable names.
    fn of(name: &str) -> Self {
        let cluster = Cluster::new(PathBuf::from(variable(name)));
        let made = as_postgres(cluster.binaries.join("initdb"))
            .arg("-D")
            .arg(cluster.data())
            .args(["-A", "trust", "-U", "postgres", "--locale=C.UTF-8", "-E", "UTF8", "--no-sync"])
            .status();
        assert!(made.expect("initdb runs").success());
        cluster.restart();
        cluster
    }

    fn new(binaries: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        _ = Command::new("chown").arg("postgres").arg(folder.path()).stderr(Stdio::null()).status();
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
        Cluster { folder, binaries, port }
    }

    /// A standby that follows this cluster, from a copy of its files. The cluster is stopped meanwhile.
    pub(crate) fn standby(&self) -> Self {
        let standby = Cluster::new(self.binaries.clone());
        let mut command = as_postgres(self.binaries.join("pg_ctl"));
        let stopped = command.arg("-D").arg(self.data()).args(["-w", "-m", "fast", "stop"]).status();
        assert!(stopped.expect("pg_ctl runs").success());
        let copied = as_postgres(PathBuf::from("cp")).arg("-a").arg(self.data()).arg(standby.data()).status();
        assert!(copied.expect("cp runs").success());
        self.restart();
        let settings = format!("primary_conninfo = 'host=127.0.0.1 port={} user=postgres'\n", self.port);
        std::fs::write(standby.data().join("postgresql.auto.conf"), settings).expect("the settings");
        std::fs::write(standby.data().join("standby.signal"), "").expect("a file");
        standby.restart();
        standby
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts it, also after a crash.
    pub(crate) fn restart(&self) {
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c fsync=off",
            self.port,
            self.folder.path().display()
        );
        let log = self.folder.path().join("data/log.txt");
        let mut command = as_postgres(self.binaries.join("pg_ctl"));
        let started = command.arg("-D").arg(self.data()).arg("-l").arg(&log).args(["-w", "-o", &options, "start"]).status();
        assert!(started.expect("pg_ctl runs").success(), "{}", std::fs::read_to_string(&log).unwrap_or_default());
    }

    /// Kills it: it has to recover when it starts again.
    pub(crate) fn kill(&self) {
        let mut command = as_postgres(self.binaries.join("pg_ctl"));
        let stopped = command.arg("-D").arg(self.data()).args(["-m", "immediate", "stop"]).status();
        assert!(stopped.expect("pg_ctl runs").success());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        _ = as_postgres(self.binaries.join("pg_ctl")).arg("-D").arg(self.data()).args(["-m", "immediate", "stop"]).status();
    }
}
