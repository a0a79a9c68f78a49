//! `runner schema`: what a YAML language server has to know of experiments.

use crate::error::{EXIT_OK, Error};
use crate::{spec, ui};

pub(super) fn schema() -> Result<u8, Error> {
    ui::show_bytes(spec::schema().as_bytes())?;
    Ok(EXIT_OK)
}
