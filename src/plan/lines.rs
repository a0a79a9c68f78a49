//! The cells of a plan as JSON lines, as fast as they can be counted: what an axis contributes is made anew
//! only when its digit changes, and nothing is kept of a line.

use std::io::{self, Write};

use sha2::Digest;

use super::cell::{as_path, push_parameter};
use super::grid::{ENVIRONMENT, Grid, HOST, Odometer, Source};
use super::scope::Scope;
use super::{Plan, texts};

impl Plan {
    /// Writes each cell as one line: `{"cell":…,"id":…,"workload":…,"host":…,"environment":…,"parameters":{…},
    /// "repetitions":…,"warmup":…}`, and `"services":{NAME:{"host":…,"environment":…}}` where there are some, in
    /// the order of the file.
    ///
    /// # Errors
    /// What `out` can't take.
    pub fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        for grid in &self.inner.grids {
            let mut odometer = Odometer::new(grid.lengths.clone());
            let mut line = Line::new(grid)?;
            let mut changed = 0;
            for point in 0..grid.points() {
                line.turn(&odometer.digits, changed)?;
                if grid.has(point) {
                    line.derive(&odometer.digits, &self.inner.scope)?;
                    out.write_all(line.write(&odometer.digits)?)?;
                }
                changed = odometer.advance().unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// What the current point contributes to its line.
struct Line<'a> {
    grid: &'a Grid,
    workload: Vec<u8>,
    slots: Vec<Part>,
    name: String,
    bytes: Vec<u8>,
}

/// One slot of the current point.
#[derive(Default)]
struct Part {
    /// `"NAME":` in JSON.
    key: Vec<u8>,
    text: String,
    path: String,
    json: Vec<u8>,
}

impl<'a> Line<'a> {
    fn new(grid: &'a Grid) -> io::Result<Self> {
        let mut slots = Vec::new();
        for slot in &grid.slots {
            let mut key = json(&slot.name)?;
            key.push(b':');
            slots.push(Part { key, ..Part::default() });
        }
        Ok(Line { grid, workload: json(&grid.workload)?, slots, name: String::new(), bytes: Vec::new() })
    }

    /// Takes the values of the axes from `changed` on.
    fn turn(&mut self, digits: &[usize], changed: usize) -> io::Result<()> {
        for (slot, part) in self.grid.slots.iter().zip(&mut self.slots) {
            if let Source::Axis(axis, values) = &slot.source
                && *axis >= changed
            {
                part.set(values.get(digits[*axis]).into_owned())?;
            }
        }
        Ok(())
    }

    /// Takes the values of the derived parameters.
    fn derive(&mut self, digits: &[usize], scope: &Scope) -> io::Result<()> {
        if self.grid.has_derived() {
            for (part, text) in self.slots.iter_mut().zip(texts(self.grid, digits, scope)) {
                part.set(text)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, digits: &[usize]) -> io::Result<&[u8]> {
        let Line { grid, workload, slots, name, bytes } = self;
        let (host, environment) = (&slots[HOST], &slots[ENVIRONMENT]);
        name.clear();
        for part in [&grid.workload, "/", &host.text, "/", &environment.text] {
            name.push_str(part);
        }
        for slot in &grid.by_name {
            push_parameter(name, &grid.slots[*slot].name, &slots[*slot].path);
        }
        let digest = grid.digests.get(&environment.text).cloned().unwrap_or_default();
        let digest = digest.chain_update(&*name).finalize();
        bytes.clear();
        bytes.extend_from_slice(b"{\"cell\":");
        serde_json::to_writer(&mut *bytes, name)?;
        bytes.extend_from_slice(b",\"id\":\"");
        for byte in digest.iter().take(8) {
            bytes.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
        }
        bytes.extend_from_slice(b"\",\"workload\":");
        bytes.extend_from_slice(workload);
        for part in [host, environment] {
            bytes.push(b',');
            bytes.extend_from_slice(&part.key);
            bytes.extend_from_slice(&part.json);
        }
        bytes.extend_from_slice(b",\"parameters\":{");
        for (number, slot) in grid.by_name.iter().enumerate() {
            if number > 0 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(&slots[*slot].key);
            bytes.extend_from_slice(&slots[*slot].json);
        }
        write!(bytes, "}},\"repetitions\":{},\"warmup\":{}", grid.repetitions, grid.warmup)?;
        if let Some(rule) = grid.adaptive {
            bytes.extend_from_slice(b",\"adaptive\":");
            serde_json::to_writer(&mut *bytes, &rule)?;
        }
        self.write_services(digits)?;
        self.bytes.extend_from_slice(b"}\n");
        Ok(&self.bytes)
    }

    /// Each service with its host and environment; nothing where there is none.
    fn write_services(&mut self, digits: &[usize]) -> io::Result<()> {
        let Line { grid, slots, bytes, .. } = self;
        for (number, service) in grid.services.iter().enumerate() {
            bytes.extend_from_slice(if number == 0 { b",\"services\":{" } else { b"," });
            serde_json::to_writer(&mut *bytes, &service.name)?;
            bytes.extend_from_slice(b":{\"host\":");
            serde_json::to_writer(&mut *bytes, service.host.name(&slots[HOST].text, digits))?;
            bytes.extend_from_slice(b",\"environment\":");
            serde_json::to_writer(&mut *bytes, service.environment.name(&slots[ENVIRONMENT].text, digits))?;
            bytes.push(b'}');
        }
        if !grid.services.is_empty() {
            bytes.push(b'}');
        }
        Ok(())
    }
}

impl Part {
    fn set(&mut self, text: String) -> io::Result<()> {
        self.path = as_path(&text);
        self.json.clear();
        serde_json::to_writer(&mut self.json, &text)?;
        self.text = text;
        Ok(())
    }
}

fn json(text: &str) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(text)?)
}
