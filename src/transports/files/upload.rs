//! A local file or folder to a place: a tar, in pieces, to a temporary folder beside its target, and
//! unpacked and moved there once it is whole. Read [`upload`] first.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{inside, pack};
use crate::transports::job::{self, quote};
use crate::transports::{Exit, Transport, TransportError};

/// Bytes sent by one script. A multiple of [`LINE`].
const PIECE: usize = 3 << 20;
/// Bytes in one line of base64. A multiple of 3, so that only the last line is padded.
const LINE: usize = 3 << 10;

/// Copies the file or folder `source` of this machine to `name` below `directory`; an empty `name` is the
/// directory itself. Folders on the way are made. Modes and times are kept, links in a folder stay links,
/// and `source` itself may be a link. A file replaces a file; a folder is merged into one that is there.
///
/// Until it is whole, the target is untouched; meanwhile the place needs room for it twice.
///
/// # Errors
/// When something can't be read here or written there, `base64` or `tar` is missing there, or `stop` was
/// cancelled; nothing is left there then. All begin with what was to be copied where.
pub async fn upload(
    transport: &dyn Transport,
    source: &Path,
    directory: &str,
    name: &str,
    stop: &CancellationToken,
) -> Result<(), TransportError> {
    let failed = |error: TransportError| TransportError {
        message: format!("can't copy `{}` to `{directory}/{name}`: {}", source.display(), error.message),
        hint: error.hint,
        is_lost: error.is_lost,
    };
    let copy = async {
        let mode = mode(source).map_err(|error| unreadable(&error))?;
        let target = Path::new(directory).join(inside(Path::new(name))?);
        let temporary = begin(transport, directory, &target).await?;
        let copied = async {
            let size = send(transport, source, &temporary, stop).await?;
            job::query(transport, &finish(&temporary, &target, mode, size)).await
        };
        let copied = copied.await;
        if copied.is_err() {
            // The first failure is the one to tell.
            let _ = job::query(transport, &remove(&temporary)).await;
        }
        copied.map(drop)
    };
    copy.await.map_err(failed)
}

/// The mode of a folder; `None` for a file, which has its own in the tar.
fn mode(source: &Path) -> io::Result<Option<u32>> {
    let found = std::fs::metadata(source)?;
    Ok(found.is_dir().then(|| found.permissions().mode() & 0o7777))
}

fn unreadable(error: &io::Error) -> TransportError {
    TransportError { message: format!("can't read it: {error}"), hint: None, is_lost: false }
}

/// Makes a temporary folder on the file system of `target`, and returns its path.
async fn begin(transport: &dyn Transport, directory: &str, target: &Path) -> Result<String, TransportError> {
    let parent = match target == Path::new(directory) {
        true => target,
        false => target.parent().unwrap_or(target),
    };
    let parent = quote(&parent.to_string_lossy());
    let script = format!(
        r#"for p in base64 tar; do
  command -v $p >/dev/null || {{ echo "$p is missing there: install it" >&2; exit 1; }}
done
mkdir -p {parent} && mktemp -d {parent}/.runner-XXXXXX"#
    );
    let printed = job::query(transport, &script).await?;
    Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
}

/// Brings the tar of `source` into the temporary folder, piece by piece, and returns its size in bytes.
async fn send(
    transport: &dyn Transport,
    source: &Path,
    temporary: &str,
    stop: &CancellationToken,
) -> Result<usize, TransportError> {
    let (sender, mut pieces) = mpsc::channel(1);
    let source = source.to_owned();
    let packing = tokio::task::spawn_blocking(move || pack_into(&source, sender));
    let file = quote(&format!("{temporary}/tar"));
    let mut size = 0;
    while let Some(piece) = pieces.recv().await {
        if stop.is_cancelled() {
            return Err(TransportError {
                message: "the run was interrupted".into(),
                hint: None,
                is_lost: false,
            });
        }
        // `cat` says why it can't write; `base64` does not.
        append(transport, &file, &piece).await?;
        size += piece.len();
    }
    let packed = packing.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    packed.map(|()| size).map_err(|error| unreadable(&error))
}

/// Adds a piece, once: by a shell of its own, since a kept one may be asked twice and reads byte by byte.
async fn append(transport: &dyn Transport, file: &str, piece: &[u8]) -> Result<(), TransportError> {
    let script = format!("{{ base64 -d | cat >>{file}; }} <<'END'\n{}END", lines(piece));
    let output = transport.run(&script, &CancellationToken::new()).await?;
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.exit {
        Exit::Code(0) if reason.is_empty() => Ok(()),
        exit => Err(TransportError::new(if reason.is_empty() { format!("{exit:?}") } else { reason })),
    }
}

fn lines(piece: &[u8]) -> String {
    piece.chunks(LINE).map(|line| STANDARD.encode(line) + "\n").collect()
}

/// Unpacks the tar and moves what was in it to its target.
fn finish(temporary: &str, target: &Path, mode: Option<u32>, size: usize) -> String {
    let (make, change_mode) = match mode {
        // A folder that can't be written can't be moved either: it gets its mode at its target.
        Some(mode) => ("mkdir \"$t/new\"", format!("chmod {mode:o} \"$to\"")),
        None => (":", ":".to_owned()),
    };
    format!(
        r#"t={temporary}; to={target}
[ "$(wc -c <"$t/tar")" -eq {size} ] || {{ echo 'it did not arrive whole' >&2; exit 1; }}
{make} || exit 1
said=$(tar -xpof "$t/tar" -C "$t" 2>&1) || {{ printf '%s\n' "$said" | head -n 1 >&2; exit 1; }}
if [ ! -d "$to" ]; then mv -f "$t/new" "$to" && {change_mode} || exit 1
elif [ -d "$t/new" ]; then cp -pPR "$t/new/." "$to/" || exit 1
else echo 'a folder of that name is there' >&2; exit 1
fi
{remove}"#,
        temporary = quote(temporary),
        target = quote(&target.to_string_lossy()),
        remove = remove(temporary),
    )
}

fn remove(temporary: &str) -> String {
    format!("chmod -R u+rwx {0}; rm -rf {0}", quote(temporary))
}

fn pack_into(source: &Path, sender: mpsc::Sender<Vec<u8>>) -> io::Result<()> {
    let mut tar = tar::Builder::new(Pieces { sender, piece: Vec::with_capacity(PIECE) });
    pack(&mut tar, source, &PathBuf::from("new"))?;
    let mut rest = tar.into_inner()?;
    rest.flush()
}

/// Cuts what is written into pieces and sends them on.
struct Pieces {
    sender: mpsc::Sender<Vec<u8>>,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.sender.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
