//! Finds the addresses of a name, and remembers them for times in which no name server answers.
//!
//! A lookup blocks a thread of the system for as long as the name server takes. So a name has one at a time, in a task of its own, which goes
//! on when a request stops waiting for it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::net::lookup_host;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a lookup may take before remembered addresses are used.
const LOOKUP_TIMEOUT: Duration = Duration::from_millis(500);

/// The addresses of a name, or why there are none.
pub(super) type Found = Result<Vec<SocketAddr>, String>;

type Resolve = Arc<dyn Fn() -> BoxFuture<'static, Found> + Send + Sync>;

/// A name at a port.
#[derive(Clone)]
pub(super) struct Name {
    resolve: Resolve,
    timeout: Duration,
    state: Arc<Mutex<Lookups>>,
}

#[derive(Default)]
struct Lookups {
    running: Option<Running>,
    /// The addresses that were found last.
    last: Vec<SocketAddr>,
}

#[derive(Clone)]
struct Running {
    began: Instant,
    found: watch::Receiver<Option<Found>>,
}

impl Running {
    /// What it finds until then.
    async fn found(mut self, end: Instant) -> Found {
        match tokio::time::timeout_at(end, self.found.wait_for(Option::is_some)).await {
            Ok(Ok(found)) => found.clone().unwrap_or_else(|| Err("the lookup of the name ended early".to_owned())),
            Ok(Err(_)) => Err("the lookup of the name ended early".to_owned()),
            Err(_) => Err("the name was not resolved in time".to_owned()),
        }
    }
}

impl Name {
    pub(super) fn new(name: &str, port: u16) -> Self {
        let name = name.to_owned();
        let resolve: Resolve = Arc::new(move || {
            let name = name.clone();
            Box::pin(async move { lookup_host((name, port)).await.map(Iterator::collect).map_err(|error| error.to_string()) })
        });
        Name { resolve, timeout: LOOKUP_TIMEOUT, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, Lookups> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses now. If the lookup fails or is late, they are those that were found last; without such the lookup has this time.
    pub(super) async fn addresses(&self, timeout: Duration) -> Found {
        let (running, last) = self.lookup();
        let time = if last.is_empty() { timeout } else { self.timeout };
        let end = running.began + time;
        match running.found(end).await {
            Err(reason) if !last.is_empty() => {
                tracing::debug!(reason, "using the last addresses of a name");
                Ok(last)
            }
            found => found,
        }
    }

    /// The lookup that goes on, or else a new one, and the addresses that were found last.
    fn lookup(&self) -> (Running, Vec<SocketAddr>) {
        let mut state = self.state();
        // A lookup that ended without a result, with its runtime, goes on no more.
        if let Some(running) = state.running.as_ref().filter(|running| running.found.has_changed().is_ok()) {
            return (running.clone(), state.last.clone());
        }
        let (sender, found) = watch::channel(None);
        let running = Running { began: Instant::now(), found };
        state.running = Some(running.clone());
        let name = self.clone();
        tokio::spawn(async move {
            let found = (name.resolve)().await;
            let mut state = name.state();
            state.running = None;
            if let Ok(addresses) = &found {
                state.last.clone_from(addresses);
            }
            sender.send_replace(Some(found));
        });
        (running, state.last.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A name server whose answer a test sets; none while it does not answer.
    fn name(answer: &watch::Sender<Option<Found>>, asked: &Arc<AtomicUsize>) -> Name {
        let (answer, asked) = (answer.subscribe(), asked.clone());
        let resolve: Resolve = Arc::new(move || {
            asked.fetch_add(1, Ordering::SeqCst);
            let mut answer = answer.clone();
            Box::pin(async move { answer.wait_for(Option::is_some).await.expect("the test goes on").clone().expect("an answer") })
        });
        Name { resolve, timeout: Duration::from_millis(10), state: Arc::default() }
    }

    fn address(last: u8) -> Vec<SocketAddr> {
        vec![([127, 0, 0, last], 5432).into()]
    }

    // contract B1.26
    #[tokio::test]
    async fn the_last_addresses_are_used_while_the_name_server_does_not_answer() {
        let (answer, asked) = (watch::Sender::new(Some(Ok(address(1)))), Arc::default());
        let name = name(&answer, &asked);
        assert_eq!(name.addresses(LONG).await, Ok(address(1)));
        answer.send_replace(Some(Err("no such name".to_owned())));
        assert_eq!(name.addresses(LONG).await, Ok(address(1)), "a failure");
        answer.send_replace(None);
        for _ in 0..5 {
            assert_eq!(name.addresses(LONG).await, Ok(address(1)), "a late answer");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 3, "one lookup at a time");
        answer.send_replace(Some(Ok(address(2))));
        while name.addresses(LONG).await != Ok(address(2)) {}
    }

    // contract B1.26
    #[tokio::test]
    async fn the_first_lookup_has_the_time_of_a_connection() {
        let (answer, asked) = (watch::Sender::new(None), Arc::default());
        let name = name(&answer, &asked);
        let reason = name.addresses(Duration::from_millis(20)).await.expect_err("no answer");
        assert!(reason.contains("not resolved in time"), "{reason}");
        let slow = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            answer.send_replace(Some(Ok(address(1))));
        };
        let (found, ()) = tokio::join!(name.addresses(LONG), slow);
        assert_eq!(found, Ok(address(1)), "later than remembered addresses would be used");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "both waited for one lookup");
    }
}
