//! Files to a place and back, by scripts alone, so that it works wherever a shell does: to this machine, over
//! SSH, in a container. Contents go as base64 and come as they are. Read [`upload`] and [`fetch`] first.

mod fetch;
mod pack;
mod upload;

use std::path::{Component, Path, PathBuf};

use super::TransportError;

pub use fetch::{Fetched, Found, fetch};
pub(super) use pack::pack;
pub use upload::upload;

/// `path` without `.` and doubled slashes.
///
/// # Errors
/// When it leads out of the directory that it is relative to.
fn inside(path: &Path) -> Result<PathBuf, TransportError> {
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            _ => {
                return Err(TransportError {
                    message: format!("`{}` leads out of the directory", path.display()),
                    hint: Some("write it relative to the directory, without `..`".into()),
                    is_lost: false,
                });
            }
        }
    }
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_is_refused() {
        for (path, expected) in [
            ("a/b", Some("a/b")),
            ("./a//b/.", Some("a/b")),
            (".", Some("")),
            ("..a/b..", Some("..a/b..")),
            ("/a", None),
            ("a/../b", None),
            ("..", None),
        ] {
            assert_eq!(inside(Path::new(path)).ok(), expected.map(PathBuf::from), "{path}");
        }
    }
}
