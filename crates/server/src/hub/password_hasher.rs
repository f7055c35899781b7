//! Hashes passwords on threads of low priority: one a core, with a bounded queue, so that a storm of sign-ins slows down only sign-ins.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use identity::password::{Password, PasswordHash, Proof, Workspace, prove_in};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::mutex::lock;
use crate::problem::oauth::OauthError;
use crate::random;

/// The jobs that may wait for each core. A longer queue would answer too late.
const MAX_WAITING_PER_CORE: usize = 64;

/// The threads and their bounded queue. A thread takes the next job in the same memory, and ends when none waits. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PasswordHasher {
    admitted: Arc<Semaphore>,
    queue: Arc<Mutex<Queue>>,
    cores: usize,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    threads: usize,
    large: bool,
}

struct Job {
    size: Size,
    work: Box<dyn FnOnce(&mut Workspace) + Send>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// The workspace of its thread.
    Usual,
    /// Up to 256 MiB more.
    Large,
}

impl std::fmt::Debug for PasswordHasher {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PasswordHasher").field("cores", &self.cores).finish_non_exhaustive()
    }
}

impl PasswordHasher {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let admitted = Arc::new(Semaphore::new(cores * (MAX_WAITING_PER_CORE + 1)));
        PasswordHasher { admitted, queue: Arc::default(), cores }
    }

    fn put(&self, job: Job) -> std::io::Result<()> {
        let mut queue = lock(&self.queue);
        if queue.threads < self.cores {
            let hasher = self.clone();
            match std::thread::Builder::new().name("hasher".to_owned()).spawn(move || hasher.work()) {
                Ok(_) => queue.threads += 1,
                // A running thread will take it.
                Err(_) if queue.threads > 0 => {}
                Err(error) => return Err(error),
            }
        }
        queue.waiting.push_back(job);
        Ok(())
    }

    fn work(&self) {
        lower_priority();
        let mut workspace = Workspace::default();
        while let Some(Job { size, work }) = self.next() {
            if catch_unwind(AssertUnwindSafe(|| work(&mut workspace))).is_err() {
                // The caller gets an error; the other jobs go on.
                workspace = Workspace::default();
            }
            if size == Size::Large {
                lock(&self.queue).large = false;
            }
        }
    }

    /// The next job. A large job waits for the running one and lets others pass. Without a job the thread counts as ended, under the same
    /// lock, so that a new job starts another.
    fn next(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        let place = queue.waiting.iter().position(|job| job.size == Size::Usual || !queue.large);
        let job = place.and_then(|place| queue.waiting.remove(place));
        match &job {
            Some(job) => queue.large |= job.size == Size::Large,
            None => queue.threads -= 1,
        }
        job
    }

    pub(super) fn queue_lengths(&self) -> (usize, usize) {
        let queue = lock(&self.queue);
        (queue.waiting.len(), queue.threads)
    }

    /// A place in the queue, unless it is full. It is taken before an attempt is counted, since a full queue is no failed attempt.
    pub(crate) fn admit(&self) -> Result<QueuePlace, OauthError> {
        let admitted = self.admitted.clone().try_acquire_owned().map_err(|_| OauthError::Busy)?;
        Ok(QueuePlace { admitted, hasher: self.clone() })
    }
}

#[derive(Debug)]
pub(crate) struct QueuePlace {
    admitted: OwnedSemaphorePermit,
    hasher: PasswordHasher,
}

impl QueuePlace {
    /// Compares a password with the stored hash. Without a hash it does the same work.
    pub(crate) async fn compare(self, kept: Option<PasswordHash>, password: Password) -> Result<Option<Proof>, OauthError> {
        let salt = random::bytes()?;
        let size = if kept.as_ref().is_some_and(PasswordHash::is_large) { Size::Large } else { Size::Usual };
        self.work(size, move |workspace| prove_in(workspace, kept, &password, salt)).await
    }

    pub(crate) async fn make(self, password: Password) -> Result<PasswordHash, OauthError> {
        let salt = random::bytes()?;
        let made = self.work(Size::Usual, move |workspace| PasswordHash::make_in(workspace, &password, salt)).await?;
        made.map_err(|_| OauthError::Internal("a password could not be hashed"))
    }

    async fn work<T: Send + 'static>(self, size: Size, work: impl FnOnce(&mut Workspace) -> T + Send + 'static) -> Result<T, OauthError> {
        let QueuePlace { admitted, hasher } = self;
        let (sender, result) = oneshot::channel();
        let job = move |workspace: &mut Workspace| {
            let outcome = work(workspace);
            // The place belongs to the job, which goes on when its caller disconnects.
            drop(admitted);
            _ = sender.send(outcome);
        };
        hasher.put(Job { size, work: Box::new(job) }).map_err(|_| OauthError::Busy)?;
        result.await.map_err(|_| OauthError::Internal("hashing a password panicked"))
    }
}

fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_job_that_panics_stops_no_other() {
        // attack 33
        let hasher = PasswordHasher { admitted: Arc::new(Semaphore::new(3)), queue: Arc::default(), cores: 1 };
        let tickets: Vec<QueuePlace> = (0..3).map(|_| hasher.admit().unwrap()).collect();
        assert!(hasher.admit().is_err(), "the queue is bounded");
        let mut answers = Vec::new();
        for (number, ticket) in tickets.into_iter().enumerate() {
            answers.push(tokio::spawn(ticket.work(Size::Usual, move |_| if number == 1 { panic!("on purpose") } else { number })));
        }
        let mut results = Vec::new();
        for answer in answers {
            results.push(answer.await.unwrap().ok());
        }
        assert_eq!(results, [Some(0), None, Some(2)]);
        // Wait until the last thread counts as ended.
        while lock(&hasher.queue).threads > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(hasher.admit().unwrap().work(Size::Usual, |_| 7).await.ok(), Some(7));
    }

    #[tokio::test]
    async fn one_large_job_runs_at_a_time_and_others_pass() {
        // attack 33
        let hasher = PasswordHasher { admitted: Arc::new(Semaphore::new(4)), queue: Arc::default(), cores: 2 };
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
        // The first runs until the last has passed the second.
        let answers = tokio::join!(large(Some(wait)), large(None), ticket().work(Size::Usual, move |_| passed.send(()).is_ok()));
        assert_eq!((answers.0.ok(), answers.1.ok(), answers.2.ok()), (Some(0), Some(0), Some(true)));
    }
}
