//! Which cell a person means by a part of its name.

use super::Cell;

/// How many names are offered.
const OFFERED: usize = 5;

/// Why no cell is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCell {
    /// What is wrong.
    pub message: String,
    /// Which names there are.
    pub help: String,
}

/// The number of the cell that is called `text`, or of the only one whose name holds it.
///
/// # Errors
/// When no name holds it or several do, with those that may be meant.
pub fn find(cells: impl IntoIterator<Item = Cell>, text: &str) -> Result<usize, NoCell> {
    let mut holding: Vec<(usize, Cell)> = Vec::new();
    let mut count = 0_usize;
    let mut nearest: Vec<(f64, String)> = Vec::new();
    for (index, cell) in cells.into_iter().enumerate() {
        let name = cell.name.as_str();
        if name == text {
            return Ok(index);
        }
        if name.contains(text) {
            count += 1;
            if holding.len() < OFFERED {
                holding.push((index, cell));
            }
        } else if count == 0 {
            nearest.push((strsim::jaro_winkler(name, text), name.to_owned()));
            nearest.sort_by(|one, other| other.0.total_cmp(&one.0));
            nearest.truncate(OFFERED);
        }
    }
    let list = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if count == 1
        && let Some((index, _)) = holding.pop()
    {
        return Ok(index);
    }
    let names = holding.iter().map(|(_, cell)| cell.name.as_str()).collect();
    Err(match count {
        0 => NoCell {
            message: format!("no cell is called `{text}`"),
            help: format!("near it are {}", list(nearest.iter().map(|(_, name)| &**name).collect())),
        },
        _ => NoCell {
            message: format!("`{text}` is part of the names of {count} cells"),
            help: match count > OFFERED {
                true => format!("write more of the name, such as {}", list(names)),
                false => format!("write one of {}", list(names)),
            },
        },
    })
}
