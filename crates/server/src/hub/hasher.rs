//! Hashes passwords off the asynchronous threads: as many at a time as there are cores, so that memory and time stay bounded, with a
//! queue that is bounded too. Its threads give way to all others, so that a storm of sign-ins slows down sign-ins alone.

use std::sync::{Arc, Mutex, PoisonError};

use identity::password::{self, Password, PasswordHash, Rehash, Verdict, Workspace};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::chance;
use crate::error::oauth::Fault;

/// How many may wait for each core. Beyond that an answer would come too late to be of use.
const WAITING_PER_CORE: usize = 64;

/// The bounded pool.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    places: usize,
    spare: Spare,
}

/// Memory that the last ones worked in. It is kept as long as there is more to do, and given back by the last one.
type Spare = Arc<Mutex<Vec<Workspace>>>;

/// What came of comparing a password.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) verdict: Verdict,
    /// The hash to keep from now on, where the old one is of another time or place.
    pub(crate) renewed: Option<PasswordHash>,
}

impl Hasher {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let places = cores * (WAITING_PER_CORE + 1);
        Hasher { running: Arc::new(Semaphore::new(cores)), admitted: Arc::new(Semaphore::new(places)), places, spare: Spare::default() }
    }

    /// A place in the queue, or word that it is full. Taken before an attempt is counted: who is sent away has not failed.
    pub(crate) fn admit(&self) -> Result<Ticket, Fault> {
        let admitted = self.admitted.clone().try_acquire_owned().map_err(|_| Fault::Busy)?;
        Ok(Ticket { admitted, running: self.running.clone(), places: self.places, spare: self.spare.clone() })
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(crate) struct Ticket {
    admitted: OwnedSemaphorePermit,
    running: Arc<Semaphore>,
    places: usize,
    spare: Spare,
}

impl Ticket {
    /// Compares a password with what is kept; without an account the same work is done for nothing.
    pub(crate) async fn compare(self, kept: Option<PasswordHash>, password: Password) -> Result<Compared, Fault> {
        let salt = chance::random()?;
        self.work(move |workspace| {
            let verdict = password::verify_in(workspace, kept.as_ref(), &password);
            let renewed = match verdict {
                Verdict::Matches { rehash: Rehash::Needed } => PasswordHash::make(&password, salt).ok(),
                _ => None,
            };
            Compared { verdict, renewed }
        })
        .await
    }

    /// Hashes a password that somebody has chosen.
    pub(crate) async fn make(self, password: Password) -> Result<PasswordHash, Fault> {
        let salt = chance::random()?;
        let made = self.work(move |_| PasswordHash::make(&password, salt)).await?;
        made.map_err(|_| Fault::Internal("a password could not be hashed"))
    }

    async fn work<T: Send + 'static>(self, work: impl FnOnce(&mut Workspace) -> T + Send + 'static) -> Result<T, Fault> {
        let (admitted, spare) = (self.admitted, self.spare);
        let running = self.running.acquire_owned().await.map_err(|_| Fault::Busy)?;
        let (told, done) = oneshot::channel();
        let places = self.places;
        // A thread costs a thousandth of what it does here, and takes its priority with it when it ends.
        let thread = std::thread::Builder::new().name("hasher".to_owned()).spawn(move || {
            give_way();
            let mut workspace = spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let outcome = work(&mut workspace);
            let mut spare = spare.lock().unwrap_or_else(PoisonError::into_inner);
            // The permits go with the work, which a caller who leaves does not stop.
            let everywhere = admitted.semaphore().clone();
            drop((admitted, running));
            if everywhere.available_permits() == places {
                spare.clear();
            } else {
                spare.push(workspace);
            }
            drop(spare);
            _ = told.send(outcome);
        });
        thread.map_err(|_| Fault::Busy)?;
        done.await.map_err(|_| Fault::Internal("hashing a password broke off"))
    }
}

/// Lets threads that answer go first. Where a system knows no priority of a thread, or forbids it, nothing is lost but that.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}
