//! What a chart shows, as comma-separated values in base units: the columns say the plot, the colour and the place from
//! left to right, then what is drawn there.

use std::error::Error;

use crate::terminal;

/// A table that grows by rows.
pub(super) struct Data {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Data {
    pub fn new(columns: &'static str) -> Self {
        Self { header: columns.split(' ').collect(), rows: Vec::new() }
    }

    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// The text of the file.
    pub fn csv(self) -> Result<String, Box<dyn Error + Send + Sync>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.header)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|field| terminal::plain(field).into_owned()))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }
}

/// The shortest text that reads back as the same number; nothing for a number that there is not.
pub(super) fn number(value: impl Into<Option<f64>>) -> String {
    value.into().filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}
