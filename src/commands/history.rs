//! `runner history EXPERIMENT`.

use crate::cli::HistoryArguments;
use crate::error::{EXIT_OK, Error};

pub(super) fn history(_arguments: &HistoryArguments) -> Result<u8, Error> {
    Ok(EXIT_OK)
}
