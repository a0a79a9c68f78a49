//! Images: looked for on the engine first, then pulled, or built from a folder sent as a tar.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use bollard::query_parameters::{BuildImageOptionsBuilder, CreateImageOptionsBuilder};
use futures_util::StreamExt;
use sha2::{Digest, Sha256};

use super::{Engine, is_missing, told};
use crate::transports::TransportError;
use crate::transports::files::pack;

/// The label of images that were built here. They stay on the engine, to be used again:
/// `docker image prune --all --filter label=org.runner.image` removes them.
const IMAGE_LABEL: &str = "org.runner.image";

/// When an image is taken from its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pull {
    /// When it is not on the engine.
    #[default]
    Missing,
    /// Once by this program, whatever is on the engine.
    Always,
    /// Not at all.
    Never,
}

impl Engine {
    /// Makes sure that `image`, for `platform` if it is given, is on the engine: as it is there, or pulled.
    ///
    /// # Errors
    /// When it is not there and can't or must not be pulled.
    pub async fn ensure_image(
        &self,
        image: &str,
        platform: Option<&str>,
        pull: Pull,
    ) -> Result<(), TransportError> {
        match pull {
            Pull::Always => {
                let wanted = described(image, platform);
                let mut pulled = self.pulled.lock().await;
                if !pulled.contains(&wanted) {
                    self.pull(image, platform, pull).await?;
                    pulled.insert(wanted);
                }
                Ok(())
            }
            _ if self.has_image(image, platform).await? => Ok(()),
            Pull::Missing => self.pull(image, platform, pull).await,
            Pull::Never => Err(TransportError {
                message: format!(
                    "`{}`: {} is not there, and `pull: never` forbids to get it",
                    self.machine,
                    described(image, platform)
                ),
                hint: Some(format!("try `docker pull {image}` there, or take another `pull`")),
                is_lost: false,
            }),
        }
    }

    async fn pull(&self, image: &str, platform: Option<&str>, pull: Pull) -> Result<(), TransportError> {
        let failed = |reason: &str| {
            let (missing, hint) = match pull {
                Pull::Always => ("", "check the name, or use `pull: missing` to take what is there"),
                _ => ("is not there and ", "check the name, or use `build: FOLDER` with a Dockerfile"),
            };
            let what = described(image, platform);
            TransportError {
                message: format!("`{}`: {what} {missing}can't be pulled: {reason}", self.machine),
                hint: Some(hint.into()),
                is_lost: false,
            }
        };
        let (name, tag) = name_and_tag(image);
        let options = CreateImageOptionsBuilder::new().from_image(name).tag(tag);
        let options = options.platform(platform.unwrap_or_default()).build();
        let mut pulling = self.docker.create_image(Some(options), None, None);
        while let Some(progress) = pulling.next().await {
            let progress = progress.map_err(|error| failed(&told(&error)))?;
            if let Some(message) = progress.error_detail.and_then(|detail| detail.message) {
                return Err(failed(&message));
            }
        }
        Ok(())
    }

    async fn has_image(&self, image: &str, platform: Option<&str>) -> Result<bool, TransportError> {
        let found = match self.docker.inspect_image(image).await {
            Ok(found) => found,
            Err(error) if is_missing(&error) => return Ok(false),
            Err(error) => return Err(self.failed("look up image", image, &error)),
        };
        let [os, architecture, variant] =
            [found.os, found.architecture, found.variant].map(Option::unwrap_or_default);
        Ok(platform.is_none_or(|platform| is_for(platform, &os, &architecture, &variant)))
    }

    /// Builds the image of `folder`, for `platform` if it is given, and returns its name. The name holds a
    /// digest of both, so that it is built once and kept on the engine as long as nothing in the folder changes.
    ///
    /// # Errors
    /// When the folder can't be read or a step of the Dockerfile fails, with the step's last words.
    pub async fn ensure_build(
        &self,
        folder: &Path,
        platform: Option<&str>,
    ) -> Result<String, TransportError> {
        let context = context(folder).map_err(|error| TransportError {
            message: format!("can't read the build folder `{}`: {error}", folder.display()),
            hint: Some("`build` is relative to the file it stands in".into()),
            is_lost: false,
        })?;
        let platform = platform.unwrap_or_default();
        let digest = Sha256::new().chain_update(&context).chain_update(platform).finalize();
        let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let name = folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let image = format!("runner/{}:{digest}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        if self.has_image(&image, None).await? {
            return Ok(image);
        }
        let labels = HashMap::from([(IMAGE_LABEL, "built")]);
        let options = BuildImageOptionsBuilder::new().t(&image).labels(&labels).platform(platform);
        let options = options.rm(true).forcerm(true).build();
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
                    is_lost: false,
                });
            }
        }
        Ok(image)
    }
}

/// A folder as a tar whose bytes depend on names, contents and modes only.
fn context(folder: &Path) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    tar.mode(tar::HeaderMode::Deterministic);
    pack(&mut tar, folder, Path::new(""))?;
    tar.into_inner()
}

fn described(image: &str, platform: Option<&str>) -> String {
    match platform {
        Some(platform) => format!("image `{image}` for {platform}"),
        None => format!("image `{image}`"),
    }
}

/// `name` and `tag` of an image; one that is named by its digest has no tag.
fn name_and_tag(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        _ if image.contains('@') => (image, ""),
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

/// Whether an image for `os`, `architecture` and `variant` is one for `platform`: `linux/arm64`,
/// `linux/arm/v7`, or the operating system or architecture alone.
fn is_for(platform: &str, os: &str, architecture: &str, variant: &str) -> bool {
    let known = match platform.split('/').collect::<Vec<_>>()[..] {
        [one] => return [os, architecture].contains(&one),
        [wanted_os, wanted, ..] => wanted_os == os && wanted == architecture,
        [] => false,
    };
    let wanted = platform.splitn(3, '/').nth(2).unwrap_or_default();
    known && (wanted.is_empty() || variant.is_empty() || wanted == variant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags() {
        for (image, expected) in [
            ("debian", ("debian", "latest")),
            ("debian:12", ("debian", "12")),
            ("registry:5000/a/b", ("registry:5000/a/b", "latest")),
            ("registry:5000/a:1", ("registry:5000/a", "1")),
            ("a@sha256:00", ("a@sha256:00", "")),
        ] {
            assert_eq!(name_and_tag(image), expected, "{image}");
        }
    }

    #[test]
    fn platforms() {
        for (platform, expected) in [
            ("linux/arm/v7", true),
            ("linux/arm", true),
            ("linux", true),
            ("arm", true),
            ("linux/arm/v6", false),
            ("linux/arm64", false),
            ("windows/arm", false),
            ("amd64", false),
        ] {
            assert_eq!(is_for(platform, "linux", "arm", "v7"), expected, "{platform}");
        }
    }
}
