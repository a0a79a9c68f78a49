//! `runner init [DIR]`: a first experiment that runs at once, and the schema beside it.

#![allow(clippy::disallowed_methods, reason = "whether files are there")]

use std::path::{Component, PathBuf};

use crate::cli::InitArguments;
use crate::error::{EXIT_OK, Error};
use crate::record::write_file;
use crate::{spec, ui};

const FIRST: &str = include_str!("../../templates/first.yaml");

pub(super) fn init(arguments: &InitArguments) -> Result<u8, Error> {
    let named = arguments.directory.components().filter(|part| *part != Component::CurDir);
    let folder = named.collect::<PathBuf>().join("experiments");
    let files = [
        (folder.join("first.yaml"), FIRST.to_owned()),
        (folder.join("experiment.schema.json"), spec::schema()),
    ];
    // A link to nowhere is something that is there, too.
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(Error::Usage {
            message: format!("`{}` is already there", path.display()),
            help: "name another folder, as in `runner init DIR`, or move the file away".to_owned(),
        });
    }
    for (path, text) in &files {
        write_file(path, text.as_bytes())?;
    }
    let [experiment, schema] = files.map(|(path, _)| path);
    ui::show_made(&experiment, &schema)?;
    Ok(EXIT_OK)
}
