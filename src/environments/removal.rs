//! The one way in which a path on a machine is removed: a few functions of POSIX shell. What is mounted below
//! the path is somebody else's data, so nothing is removed then. Read [`functions`].

use crate::spec::host::Sudo;

/// Defines `root`, which runs its arguments as root where `sudo` lets it, and `remove PATH`. That ends with 0
/// when the path is gone, else `$why` says in a line why not. The last part of the path must be a name that
/// carries the run's id: no other folder of the machine is called so, thus a mount point that has this part is
/// at or below it, whatever links lead there. A link itself is removed, not what it leads to.
pub(super) fn functions(sudo: Sudo) -> String {
    let by_root = match sudo {
        Sudo::Passwordless => "root() { [ \"$(id -u)\" != 0 ] && sudo -n \"$@\" 2>/dev/null; }",
        Sudo::None => "root() { return 1; }",
    };
    format!("{by_root}\n{REMOVE}\n")
}

/// The kernel writes a blank of a mount point as `\040`. Without its list nobody can tell what is mounted.
const REMOVE: &str = r#"mounted() {
  [ -r /proc/self/mountinfo ] || { echo "what can't be told (/proc/self/mountinfo)"; return; }
  grep -F "/$1" /proc/self/mountinfo | while read -r _ _ _ _ m _; do
    case $m/ in */"$1"/*) printf '%b\n' "$m"; break ;; esac
  done
}
remove() {
  why=
  [ -e "$1" ] || [ -L "$1" ] || return 0
  if [ ! -L "$1" ]; then
    m=$(mounted "${1##*/}")
    [ -z "$m" ] || { why="$m is mounted below it, so nothing of it was removed; help: \`umount $m\`"; return 1; }
  fi
  why=$(rm -rf "$1" 2>&1) || root rm -rf "$1" || { chmod -R u+rwx "$1" 2>/dev/null; why=$(rm -rf "$1" 2>&1); }
  why=${why%%
*}
  [ ! -e "$1" ] && [ ! -L "$1" ]
}"#;

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "what a shell does of it")]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn nothing_is_removed_where_something_is_mounted_below() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("runner-0badcafe-1");
        let precious = folder.path().join("precious/file");
        fs::create_dir_all(precious.parent().unwrap()).unwrap();
        fs::write(&precious, "data").unwrap();
        fs::create_dir_all(own.join("a b")).unwrap();
        let script = format!(
            "cd '{0}' || exit 9; mount --bind precious 'runner-0badcafe-1/a b' || exit 8\n\
             {1}\nremove '{0}/runner-0badcafe-1' && echo removed || echo \"$why\"\n\
             umount 'runner-0badcafe-1/a b'\nremove '{0}/runner-0badcafe-1' && echo removed",
            folder.path().display(),
            functions(Sudo::None)
        );
        let unshared = Command::new("unshare").args(["-rm", "sh", "-c", &script]).output();
        let Ok(output) = unshared.and_then(|output| match output.status.code() {
            Some(0) => Ok(output),
            _ => Command::new("unshare").args(["-m", "sh", "-c", &script]).output(),
        }) else {
            return;
        };
        if output.status.code() != Some(0) {
            // This user may mount nothing here.
            eprintln!("not tried: {}", String::from_utf8_lossy(&output.stderr));
            return;
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<_> = printed.lines().collect();
        assert!(lines[0].contains("/runner-0badcafe-1/a b is mounted below it"), "{printed}");
        assert_eq!(lines[1], "removed");
        assert!(precious.exists() && !own.exists());
    }
}
