use super::{Transport, TransportError};
use std::path::Path;
pub struct Fetched {
    pub name: String,
    pub bytes: Vec<u8>,
    pub size: u64,
}
pub async fn upload(_: &dyn Transport, _: &Path, _: &str, _: &str) -> Result<(), TransportError> {
    Ok(())
}
pub async fn fetch(_: &dyn Transport, _: &str, _: &[String]) -> Result<Vec<Fetched>, TransportError> {
    Ok(Vec::new())
}
