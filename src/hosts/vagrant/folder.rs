//! The folder of a Vagrantfile, and the calls of `vagrant` in it: one at a time, since what one makes the next must
//! see. Read [`Folder::open`], then [`Folder::state`] and [`Folder::act`].

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::command_line::{Call, Hear, Printed};
use super::{ssh_config, status};
use crate::transports::TransportError;

/// How it is installed.
const INSTALL: &str = "install Vagrant (Debian: `apt-get install vagrant`, else from vagrantup.com), and what its provider needs";
/// The longest time of a question.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);
/// How often a lock is tried.
const PACE: Duration = Duration::from_millis(100);

/// A folder in which `vagrant` is called.
pub(super) struct Folder {
    path: PathBuf,
    provider: Option<String>,
    /// Held by us, and by each `vagrant` that changes something, also when we are gone.
    lock: Option<File>,
}

impl Folder {
    /// The folder `path`, to ask only. `provider` is whom a machine that is not there would be of.
    pub(super) fn new(path: &Path, provider: Option<&str>) -> Folder {
        Folder { path: path.to_owned(), provider: provider.map(str::to_owned), lock: None }
    }

    /// The folder once nobody else of ours is at work in it; `tell` is called when it has to be waited for.
    ///
    /// # Errors
    /// When it is not there, or others are at work in it for longer than `within`.
    pub(super) async fn open(
        path: &Path,
        provider: Option<&str>,
        within: Duration,
        tell: impl Fn(String),
    ) -> Result<Folder, TransportError> {
        if !path.is_dir() {
            return Err(TransportError::new(format!("there is no folder `{}`", path.display())));
        }
        let file = path.join(".vagrant/runner.lock");
        let opened = fs::create_dir_all(path.join(".vagrant"))
            .and_then(|()| File::options().create(true).append(true).read(true).open(&file));
        let failed = |error| TransportError::new(format!("can't write `{}`: {error}", file.display()));
        let lock = opened.map_err(failed)?;
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Folder { lock: Some(lock), ..Folder::new(path, provider) }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if start.elapsed() > within => {
                    let message = format!("another `vagrant` is at work in `{}`", path.display());
                    return Err(TransportError::new(message));
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if start.elapsed() < PACE {
                tell(format!("waiting for another `vagrant` in {}", path.display()));
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The state of `machine`, as its provider names it.
    ///
    /// # Errors
    /// When Vagrant does not tell: no such machine, a faulty Vagrantfile, no provider.
    pub(super) async fn state(&self, machine: &str) -> Result<String, TransportError> {
        let call = self.call(&["status", machine, "--machine-readable"], ANSWERS_WITHIN);
        let printed = call.run(&|_| {}).await?;
        let text = String::from_utf8_lossy(&printed.stdout);
        status::state(&text, machine).ok_or_else(|| self.failed("status", &printed))
    }

    /// Does what `arguments` say, within that time. It ends in its own time when nobody waits for it any more.
    ///
    /// # Errors
    /// When it can't be started, fails or takes too long.
    pub(super) async fn act(
        &self,
        arguments: &[&str],
        within: Duration,
        hear: Hear,
    ) -> Result<(), TransportError> {
        let lock = self.lock.as_ref().map(File::try_clone);
        let lock = lock.unwrap_or_else(|| File::open("/dev/null"));
        let lock = lock.map_err(|error| TransportError::new(format!("the folder's lock: {error}")))?;
        let printed = self.call(arguments, within).run_gently(lock, hear).await?;
        match printed.code {
            Some(0) => Ok(()),
            _ => Err(self.failed(arguments.first().unwrap_or(&"vagrant"), &printed)),
        }
    }

    /// How `machine` is logged in to: names and values of `ssh_config(5)`.
    ///
    /// # Errors
    /// When Vagrant does not tell.
    pub(super) async fn ssh_config(&self, machine: &str) -> Result<Vec<(String, String)>, TransportError> {
        let printed = self.call(&["ssh-config", machine], ANSWERS_WITHIN).run(&|_| {}).await?;
        let options = ssh_config::options(&String::from_utf8_lossy(&printed.stdout), machine);
        options.ok_or_else(|| self.failed("ssh-config", &printed))
    }

    /// The version of Vagrant.
    ///
    /// # Errors
    /// When it is not installed.
    pub(super) async fn version(&self) -> Result<Option<String>, TransportError> {
        let printed = self.call(&["--version"], ANSWERS_WITHIN).run(&|_| {}).await?;
        Ok(status::version(&String::from_utf8_lossy(&printed.stdout)))
    }

    fn call(&self, arguments: &[&str], within: Duration) -> Call {
        // Whatever the user's own shell says of another folder.
        let folder = ("VAGRANT_CWD".to_owned(), self.path.to_string_lossy().into_owned());
        // It would ask its makers for a newer one, and print that.
        let quiet = ("VAGRANT_CHECKPOINT_DISABLE".to_owned(), "1".to_owned());
        let provider = self.provider.clone().map(|name| ("VAGRANT_DEFAULT_PROVIDER".to_owned(), name));
        Call {
            program: "vagrant",
            install: INSTALL,
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            directory: Some(self.path.clone()),
            env: [folder, quiet].into_iter().chain(provider).collect(),
            input: Vec::new(),
            within,
        }
    }

    fn failed(&self, action: &str, printed: &Printed) -> TransportError {
        let said = status::error(&String::from_utf8_lossy(&printed.stdout));
        let said = said.unwrap_or_else(|| printed.last_words());
        TransportError {
            hint: Some(format!("try `vagrant {action}` by hand in {}", self.path.display())),
            ..TransportError::new(format!("`vagrant {action}` failed: {said}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn a_folder_is_one_callers_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let told = Mutex::new(Vec::new());
        let tell = |what: String| told.lock().unwrap().push(what);
        let open = |within| Folder::open(folder.path(), None, within, tell);
        let first = open(Duration::ZERO).await.unwrap();
        assert!(told.lock().unwrap().is_empty());
        let error = open(Duration::from_millis(150)).await.err().unwrap();
        assert!(error.message.starts_with("another `vagrant` is at work in"), "{error}");
        assert_eq!(told.lock().unwrap().len(), 1);
        drop(first);
        assert!(open(Duration::ZERO).await.is_ok());
        let nowhere = folder.path().join("none");
        let error = Folder::open(&nowhere, None, Duration::ZERO, tell).await.err().unwrap();
        assert!(error.message.starts_with("there is no folder"), "{error}");
    }
}
