//! Hashes passwords off the asynchronous threads: as many at a time as there are cores, so that memory and time stay bounded, with a
//! queue that is bounded too. Of hashes from elsewhere that take much memory, one is compared at a time. Its threads give way to all
//! others, so that a storm of sign-ins slows down sign-ins alone.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use identity::password::{Password, PasswordHash, Proof, Workspace, prove_in};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::problem::oauth::OauthError;
use crate::random;

/// How many may wait for each core. Beyond that an answer would come too late to be of use.
const WAITING_PER_CORE: usize = 64;

/// The bounded pool.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    admitted: Arc<Semaphore>,
    bench: Bench,
}

/// Where hashing waits and is done. A thread goes on from one to the next without a pause and in the same memory, and ends, giving the
/// memory back, when nothing waits.
#[derive(Clone)]
struct Bench {
    queue: Arc<Mutex<Queue>>,
    cores: usize,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    threads: usize,
    /// Whether one that is large is at work.
    large: bool,
}

struct Job {
    size: Size,
    work: Box<dyn FnOnce(&mut Workspace) + Send>,
}

/// How much memory a job takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// That of its thread's workspace.
    Usual,
    /// Up to 256 MiB more.
    Large,
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Bench").field("cores", &self.cores).finish_non_exhaustive()
    }
}

impl Bench {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job at the end, and starts a thread for it if a core is free.
    fn put(&self, job: Job) -> std::io::Result<()> {
        let mut queue = self.queue();
        if queue.threads < self.cores {
            let bench = self.clone();
            match std::thread::Builder::new().name("hasher".to_owned()).spawn(move || bench.work()) {
                Ok(_) => queue.threads += 1,
                // Who is at work already will come to it.
                Err(_) if queue.threads > 0 => {}
                Err(error) => return Err(error),
            }
        }
        queue.waiting.push_back(job);
        Ok(())
    }

    fn work(&self) {
        give_way();
        let mut workspace = Workspace::default();
        while let Some(Job { size, work }) = self.next() {
            if catch_unwind(AssertUnwindSafe(|| work(&mut workspace))).is_err() {
                // Whoever waited for it hears of it; the others go on.
                workspace = Workspace::default();
            }
            if size == Size::Large {
                self.queue().large = false;
            }
        }
    }

    /// The next job; a large one waits for the one that is at work, whose thread comes back for it, and lets others pass. Without a job
    /// the thread counts as gone in the same moment, so that a job that comes now starts another.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        let place = queue.waiting.iter().position(|job| job.size == Size::Usual || !queue.large);
        let job = place.and_then(|place| queue.waiting.remove(place));
        match &job {
            Some(job) => queue.large |= job.size == Size::Large,
            None => queue.threads -= 1,
        }
        job
    }
}

impl Hasher {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let admitted = Arc::new(Semaphore::new(cores * (WAITING_PER_CORE + 1)));
        Hasher { admitted, bench: Bench { queue: Arc::default(), cores } }
    }

    /// A place in the queue, or word that it is full. Taken before an attempt is counted: who is sent away has not failed.
    pub(crate) fn admit(&self) -> Result<Ticket, OauthError> {
        let admitted = self.admitted.clone().try_acquire_owned().map_err(|_| OauthError::Busy)?;
        Ok(Ticket { admitted, bench: self.bench.clone() })
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(crate) struct Ticket {
    admitted: OwnedSemaphorePermit,
    bench: Bench,
}

impl Ticket {
    /// Compares a password with what is kept; without an account the same work is done for nothing.
    pub(crate) async fn compare(self, kept: Option<PasswordHash>, password: Password) -> Result<Option<Proof>, OauthError> {
        let salt = random::bytes()?;
        let size = if kept.as_ref().is_some_and(PasswordHash::is_large) { Size::Large } else { Size::Usual };
        self.work(size, move |workspace| prove_in(workspace, kept, &password, salt)).await
    }

    /// Hashes a password that somebody has chosen.
    pub(crate) async fn make(self, password: Password) -> Result<PasswordHash, OauthError> {
        let salt = random::bytes()?;
        let made = self.work(Size::Usual, move |workspace| PasswordHash::make_in(workspace, &password, salt)).await?;
        made.map_err(|_| OauthError::Internal("a password could not be hashed"))
    }

    async fn work<T: Send + 'static>(self, size: Size, work: impl FnOnce(&mut Workspace) -> T + Send + 'static) -> Result<T, OauthError> {
        let Ticket { admitted, bench } = self;
        let (told, done) = oneshot::channel();
        let job = move |workspace: &mut Workspace| {
            let outcome = work(workspace);
            // The place goes with the work, which a caller who leaves does not stop.
            drop(admitted);
            _ = told.send(outcome);
        };
        bench.put(Job { size, work: Box::new(job) }).map_err(|_| OauthError::Busy)?;
        done.await.map_err(|_| OauthError::Internal("hashing a password broke off"))
    }
}

/// Lets threads that answer go first. Where a system knows no priority of a thread, or forbids it, nothing is lost but that.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn one_that_breaks_off_stops_nobody_else() {
        // attack 33
        let hasher = Hasher { admitted: Arc::new(Semaphore::new(3)), bench: Bench { queue: Arc::default(), cores: 1 } };
        let tickets: Vec<Ticket> = (0..3).map(|_| hasher.admit().unwrap()).collect();
        assert!(hasher.admit().is_err(), "the queue is bounded");
        let mut answers = Vec::new();
        for (number, ticket) in tickets.into_iter().enumerate() {
            answers.push(tokio::spawn(ticket.work(Size::Usual, move |_| if number == 1 { panic!("on purpose") } else { number })));
        }
        let mut told = Vec::new();
        for answer in answers {
            told.push(answer.await.unwrap().ok());
        }
        assert_eq!(told, [Some(0), None, Some(2)]);
        // The last one counts as gone before anything can be put behind it.
        while hasher.bench.queue().threads > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(hasher.admit().unwrap().work(Size::Usual, |_| 7).await.ok(), Some(7));
    }

    #[tokio::test]
    async fn of_large_ones_one_is_at_work_at_a_time_and_others_pass() {
        // attack 33
        let hasher = Hasher { admitted: Arc::new(Semaphore::new(4)), bench: Bench { queue: Arc::default(), cores: 2 } };
        let ticket = || hasher.admit().unwrap();
        let at_work = Arc::new(AtomicUsize::new(0));
        let (passed, wait) = std::sync::mpsc::channel();
        let large = |until: Option<std::sync::mpsc::Receiver<()>>| {
            let at_work = at_work.clone();
            ticket().work(Size::Large, move |_| {
                let others = at_work.fetch_add(1, Ordering::SeqCst);
                until.map(|until| until.recv());
                at_work.fetch_sub(1, Ordering::SeqCst);
                others
            })
        };
        // The first is at work until one that was put last has passed the second.
        let answers = tokio::join!(large(Some(wait)), large(None), ticket().work(Size::Usual, move |_| passed.send(()).is_ok()));
        assert_eq!((answers.0.ok(), answers.1.ok(), answers.2.ok()), (Some(0), Some(0), Some(true)));
    }
}
