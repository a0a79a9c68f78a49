//! The Vagrantfile of a host that gives one: its text, or the fields that it is made of. A file that `runner` wrote
//! has a mark in its first line; one without it is never overwritten. Read [`text`], then [`write`].

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use crate::spec::filters::bytes;
use crate::spec::host::{Vagrant, Vagrantfile, VagrantfileFields};
use crate::transports::TransportError;

/// How the first line of every file begins that is ours.
const MARK: &str = "# Made by runner";
/// The providers that take the keys of a virtual machine, where the experiment names none.
const USUAL: [&str; 5] = ["virtualbox", "vmware_desktop", "libvirt", "parallels", "hyperv"];
/// The provider whose machines are containers.
const DOCKER: &str = "docker";
const MIB: f64 = 1_048_576.0;

/// The paths of a host that stand in its Vagrantfile, whole.
pub(super) struct Paths {
    /// Those of `synced_folders`, in their order.
    pub synced_folders: Vec<String>,
    /// That of `identity`.
    pub identity: Option<String>,
}

/// What its Vagrantfile must be, where the experiment gives one.
///
/// # Errors
/// When an amount of memory is none: templates stood for it.
pub(super) fn text(name: &str, vagrant: &Vagrant, paths: &Paths) -> Result<Option<String>, TransportError> {
    let body = match vagrant.vagrantfile.as_ref().map(|found| &found.value) {
        None => return Ok(None),
        Some(Vagrantfile::Inline(text)) => text.value.clone(),
        Some(Vagrantfile::Made(fields)) => made(name, vagrant, fields, paths)?,
    };
    Ok(Some(format!("{MARK} for an experiment, which is where to change it: this is written anew.\n{body}")))
}

fn made(
    name: &str,
    vagrant: &Vagrant,
    fields: &VagrantfileFields,
    paths: &Paths,
) -> Result<String, TransportError> {
    let VagrantfileFields { base, version, cpus, memory, synced_folders, user, .. } = fields;
    let provider = vagrant.provider.as_ref().map(|provider| provider.value.as_str());
    let memory = memory.as_ref().map(|memory| bytes(memory).map(|bytes| (bytes / MIB).ceil())).transpose();
    let memory = memory.map_err(|error| TransportError::new(format!("`{name}`: {error}")))?;
    let mut lines = Vec::new();
    if provider != Some(DOCKER) {
        lines.push(format!("machine.vm.box = {}", quoted(base)));
        lines.extend(version.as_ref().map(|version| format!("machine.vm.box_version = {}", quoted(version))));
    }
    if !synced_folders.iter().any(|folder| folder.guest.trim_end_matches('/') == "/vagrant") {
        lines.push("machine.vm.synced_folder '.', '/vagrant', disabled: true".into());
    }
    for (folder, host) in synced_folders.iter().zip(&paths.synced_folders) {
        let (guest, kind) = (quoted(&folder.guest), quoted(&folder.kind));
        lines.push(format!("machine.vm.synced_folder {}, {guest}, type: {kind}", quoted(host)));
    }
    lines.extend(user.as_ref().map(|user| format!("machine.ssh.username = {}", quoted(user))));
    if let Some(identity) = &paths.identity {
        lines.push(format!("machine.ssh.private_key_path = {}", quoted(identity)));
        lines.push("machine.ssh.insert_key = false".into());
    }
    let cpus = cpus.as_ref().map(|cpus| cpus.value);
    let has_nfs = synced_folders.iter().any(|folder| folder.kind.as_str() == "nfs");
    for provider in provider.map_or(USUAL.to_vec(), |provider| vec![provider]) {
        lines.extend(block(provider, base, (cpus, memory), has_nfs));
    }
    let machine = quoted(vagrant.machine());
    let mut text = format!("Vagrant.configure('2') do |config|\n  config.vm.define {machine} do |machine|\n");
    for line in lines {
        // Writing to a text never fails.
        let _ = writeln!(text, "    {line}");
    }
    Ok(text + "  end\nend\n")
}

/// What only one provider understands.
fn block(provider: &str, image: &str, amounts: (Option<u32>, Option<f64>), has_nfs: bool) -> Vec<String> {
    let (cpus, memory) = amounts;
    let mut lines: Vec<String> = match provider {
        DOCKER => {
            let cpus = cpus.map(|cpus| format!("'--cpus', '{cpus}'"));
            let memory = memory.map(|mebibytes| format!("'--memory', '{mebibytes}m'"));
            let limits: Vec<String> = cpus.into_iter().chain(memory).collect();
            let arguments = (!limits.is_empty()).then(|| format!("create_args = [{}]", limits.join(", ")));
            let fixed = [format!("image = {}", quoted(image)), "has_ssh = true".into()];
            fixed.into_iter().chain(arguments).collect()
        }
        "vmware_desktop" | "vmware_fusion" | "vmware_workstation" => {
            let cpus = cpus.map(|cpus| format!("vmx['numvcpus'] = '{cpus}'"));
            cpus.into_iter()
                .chain(memory.map(|mebibytes| format!("vmx['memsize'] = '{mebibytes}'")))
                .collect()
        }
        _ => {
            let cpus = cpus.map(|cpus| format!("cpus = {cpus}"));
            cpus.into_iter().chain(memory.map(|mebibytes| format!("memory = {mebibytes}"))).collect()
        }
    };
    lines.iter_mut().for_each(|line| *line = format!("  provider.{line}"));
    // VirtualBox's own network does not lead to the NFS server of the machine below.
    if provider == "virtualbox" && has_nfs {
        lines.push("  override.vm.network 'private_network', type: 'dhcp'".into());
    }
    if lines.is_empty() {
        return lines;
    }
    lines.insert(0, format!("machine.vm.provider {} do |provider, override|", quoted(provider)));
    lines.push("end".into());
    lines
}

/// As a text of Ruby in which nothing is replaced.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Whether `folder` has a Vagrantfile, and it is `text`.
pub(super) fn is_there(folder: &Path, text: &str) -> bool {
    fs::read_to_string(folder.join("Vagrantfile")).is_ok_and(|found| found == text)
}

/// Writes `text` as the Vagrantfile of `folder`, which is made.
///
/// # Errors
/// When it can't be written, or a file is there that is not ours.
pub(super) fn write(folder: &Path, text: &str) -> Result<(), TransportError> {
    let path = folder.join("Vagrantfile");
    match fs::read_to_string(&path) {
        Ok(found) if found == text => return Ok(()),
        Ok(found) if !found.starts_with(MARK) => {
            let message = format!("`{}` is not of `runner`, and is not overwritten", path.display());
            let hint = "leave `vagrantfile` out to use it, or give another `directory`";
            return Err(TransportError { hint: Some(hint.into()), ..TransportError::new(message) });
        }
        _ => {}
    }
    let written = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(&path)?;
        Ok(())
    };
    let failed = |error| TransportError::new(format!("can't write `{}`: {error}", path.display()));
    written().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Located;
    use crate::spec::host::SyncedFolder;

    fn text_of(text: &str) -> Located<String> {
        Located::unwritten(text.to_owned())
    }

    fn vagrant(provider: Option<&str>, base: &str, folders: &[(&str, &str)]) -> Vagrant {
        let folder = |(kind, guest): &(&str, &str)| SyncedFolder {
            kind: text_of(kind),
            host: text_of("shared"),
            guest: text_of(guest),
        };
        let fields = VagrantfileFields {
            base: text_of(base),
            cpus: Some(Located::unwritten(2)),
            memory: Some(text_of("1.5GiB")),
            synced_folders: folders.iter().map(folder).collect(),
            ..VagrantfileFields::default()
        };
        Vagrant {
            provider: provider.map(text_of),
            machine: Some(text_of("node1")),
            vagrantfile: Some(Located::unwritten(Vagrantfile::Made(Box::new(fields)))),
            ..Vagrant::default()
        }
    }

    fn made_of(vagrant: &Vagrant) -> String {
        let synced_folders = vec!["/srv/it's #{here}".to_owned(); 2];
        let paths = Paths { synced_folders, identity: Some("/keys/a b".into()) };
        text("vm", vagrant, &paths).unwrap().unwrap()
    }

    #[test]
    fn each_provider_gets_its_own_block() {
        let virtualbox = made_of(&vagrant(Some("virtualbox"), "debian/bookworm64", &[("nfs", "/mnt/nfs")]));
        let expected = r"Vagrant.configure('2') do |config|
  config.vm.define 'node1' do |machine|
    machine.vm.box = 'debian/bookworm64'
    machine.vm.synced_folder '.', '/vagrant', disabled: true
    machine.vm.synced_folder '/srv/it\'s #{here}', '/mnt/nfs', type: 'nfs'
    machine.ssh.private_key_path = '/keys/a b'
    machine.ssh.insert_key = false
    machine.vm.provider 'virtualbox' do |provider, override|
      provider.cpus = 2
      provider.memory = 1536
      override.vm.network 'private_network', type: 'dhcp'
    end
  end
end
";
        let (mark, body) = virtualbox.split_once('\n').unwrap();
        assert!(mark.starts_with(MARK) && body == expected, "{virtualbox}");
        let all = made_of(&vagrant(None, "b", &[]));
        for expected in [
            "machine.vm.provider 'libvirt' do |provider, override|\n      provider.cpus = 2\n      provider.memory = 1536\n",
            "machine.vm.provider 'vmware_desktop' do |provider, override|\n      provider.vmx['numvcpus'] = '2'\n      provider.vmx['memsize'] = '1536'\n",
        ] {
            assert!(all.contains(expected), "{all}");
        }
        assert!(!all.contains("docker") && !all.contains("private_network"), "{all}");
        let docker = made_of(&vagrant(Some("docker"), "bench:1", &[("docker", "/vagrant")]));
        for expected in [
            "provider.image = 'bench:1'\n",
            "provider.has_ssh = true\n",
            "provider.create_args = ['--cpus', '2', '--memory', '1536m']\n",
            "machine.ssh.insert_key = false\n",
        ] {
            assert!(docker.contains(expected), "{docker}");
        }
        assert!(!docker.contains("vm.box") && !docker.contains("disabled"), "{docker}");
    }

    #[test]
    fn ruby_reads_what_was_meant() {
        for text in ["plain", "it's", "#{exit}", "back\\slash", "\\'", "ends in \\", "line\nbreak", "\"#$0"] {
            let Ok(printed) =
                std::process::Command::new("ruby").args(["-e", &format!("print {}", quoted(text))]).output()
            else {
                assert_eq!(quoted("it's \\"), r"'it\'s \\'");
                continue;
            };
            assert_eq!(String::from_utf8_lossy(&printed.stdout), text);
        }
    }

    #[test]
    fn a_file_of_others_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/Vagrantfile");
        let ours = |body: &str| format!("{MARK}\n{body}\n");
        write(path.parent().unwrap(), &ours("1")).unwrap();
        write(path.parent().unwrap(), &ours("2")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), ours("2"));
        assert!(is_there(path.parent().unwrap(), &ours("2")) && !is_there(folder.path(), ""));
        fs::write(&path, "Vagrant.configure('2') { }").unwrap();
        let error = write(path.parent().unwrap(), &ours("3")).unwrap_err();
        assert!(error.message.contains("is not overwritten"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "Vagrant.configure('2') { }");
    }
}
