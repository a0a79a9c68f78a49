//! Images: looked for on the engine first, then pulled, or built from a folder sent as a tar.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use bollard::query_parameters::{BuildImageOptionsBuilder, CreateImageOptionsBuilder};
use futures_util::StreamExt;
use sha2::{Digest, Sha256};

use super::{Engine, is_missing, told};
use crate::transports::TransportError;

/// The label of images that were built here. They stay on the engine, to be used again:
/// `docker image prune --all --filter label=org.runner.image` removes them.
const IMAGE_LABEL: &str = "org.runner.image";

impl Engine {
    /// Makes sure that `image` is on the engine: as it is there, or pulled.
    ///
    /// # Errors
    /// When it is neither there nor can be pulled.
    pub async fn ensure_image(&self, image: &str) -> Result<(), TransportError> {
        if self.has_image(image).await? {
            return Ok(());
        }
        let (name, tag) = match image.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') && !image.contains('@') => (name, tag),
            _ => (image, if image.contains('@') { "" } else { "latest" }),
        };
        let options = CreateImageOptionsBuilder::new().from_image(name).tag(tag).build();
        let mut pulling = self.docker.create_image(Some(options), None, None);
        while let Some(progress) = pulling.next().await {
            let progress = progress.map_err(|error| self.no_image(image, &told(&error)))?;
            if let Some(message) = progress.error_detail.and_then(|detail| detail.message) {
                return Err(self.no_image(image, &message));
            }
        }
        Ok(())
    }

    fn no_image(&self, image: &str, reason: &str) -> TransportError {
        TransportError {
            message: format!(
                "`{}`: image `{image}` is not there and can't be pulled: {reason}",
                self.machine
            ),
            hint: Some("check the name, or use `build: FOLDER` with a Dockerfile".into()),
        }
    }

    async fn has_image(&self, image: &str) -> Result<bool, TransportError> {
        match self.docker.inspect_image(image).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(self.failed("look up image", image, &error)),
        }
    }

    /// Builds the image of `folder` and returns its name. The name holds a digest of the folder, so that
    /// it is built once and kept on the engine as long as nothing in the folder changes.
    ///
    /// # Errors
    /// When the folder can't be read or a step of the Dockerfile fails, with the step's last words.
    pub async fn ensure_build(&self, folder: &Path) -> Result<String, TransportError> {
        let context = context(folder).map_err(|error| TransportError {
            message: format!("can't read the build folder `{}`: {error}", folder.display()),
            hint: Some("`build` is relative to the file it stands in".into()),
        })?;
        let digest: String =
            Sha256::digest(&context).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let name = folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let image = format!("runner/{}:{digest}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        if self.has_image(&image).await? {
            return Ok(image);
        }
        let labels = HashMap::from([(IMAGE_LABEL, "built")]);
        let options =
            BuildImageOptionsBuilder::new().t(&image).labels(&labels).rm(true).forcerm(true).build();
        let mut building = self.docker.build_image(options, None, Some(bollard::body_full(context.into())));
        let mut last = String::new();
        while let Some(progress) = building.next().await {
            let failure = match progress {
                Ok(progress) => {
                    let line = progress.stream.filter(|line| !line.trim().is_empty());
                    last = line.unwrap_or(last);
                    progress.error_detail.and_then(|detail| detail.message)
                }
                Err(error) => Some(told(&error)),
            };
            if let Some(reason) = failure {
                return Err(TransportError {
                    message: format!(
                        "`{}`: building `{}` failed: {reason}; before it: {}",
                        self.machine,
                        folder.display(),
                        last.trim()
                    ),
                    hint: Some(format!("try `docker build {}` there", folder.display())),
                });
            }
        }
        Ok(image)
    }
}

/// A folder as a tar whose bytes depend on names, contents and modes only.
fn context(folder: &Path) -> io::Result<Vec<u8>> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    let mut tar = tar::Builder::new(Vec::new());
    tar.mode(tar::HeaderMode::Deterministic);
    tar.follow_symlinks(false);
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        tar.append_path_with_name(&file, name)?;
    }
    tar.into_inner()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { list(&entry.path(), files)? } else { files.push(entry.path()) }
    }
    Ok(())
}
