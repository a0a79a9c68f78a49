//! `runner schema`: what a YAML language server has to know of experiments.

use crate::error::{EXIT_OK, Error};
use crate::ui;

pub(super) fn schema() -> Result<u8, Error> {
    ui::show_bytes(text().as_bytes())?;
    Ok(EXIT_OK)
}

/// The JSON Schema of an experiment.
pub(super) fn text() -> String {
    concat!(
        "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n",
        "  \"title\": \"runner experiment\",\n  \"type\": \"object\"\n}\n"
    )
    .to_owned()
}
