//! A [`Spec`] back into YAML: the experiment as it was run, with includes merged and overrides applied.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::Spec;
use super::caches::DropCaches;
use super::host::Ssh;
use super::located::{List, Located};
use super::matrix::{Axes, Block, Exclude, Values};
use super::step::{Step, Steps, Upload};
use super::time::TimeSpan;
use super::wait::{CoolDown, WaitIdle};
use super::workload::Command;

impl Spec {
    /// The experiment as one YAML file. Values keep their meaning; comments and layout are gone.
    pub fn to_yaml(&self) -> String {
        let value = serde_json::to_value(self).map(without_null).unwrap_or_default();
        serde_yaml::to_string(&value).unwrap_or_default()
    }
}

/// A part of a spec as one line of text that is the same as long as the part is.
pub fn settings(part: &impl Serialize) -> String {
    serde_json::to_value(part).map(without_null).unwrap_or_default().to_string()
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, without_null(v))).collect(),
        ),
        Value::Array(list) => Value::Array(list.into_iter().map(without_null).collect()),
        other => other,
    }
}

impl<T: Serialize> Serialize for Located<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        one_or_many(&self.values, self.is_list, serializer)
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        one_or_many(&self.words, self.is_list, serializer)
    }
}

impl Serialize for Steps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

fn one_or_many<S: Serializer, T: Serialize>(
    values: &[T],
    is_list: bool,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match values {
        [value] if !is_list => value.serialize(serializer),
        values => values.serialize(serializer),
    }
}

impl Serialize for Ssh {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Step::DropCaches(settings) if *settings == DropCaches::default() => {
                serializer.serialize_str("drop_caches")
            }
            Step::DropCaches(settings) => entries(serializer, [("drop_caches", settings)]),
            Step::Sleep(time) => entries(serializer, [("sleep", time)]),
            Step::Upload(upload) => entries(serializer, [("upload", upload)]),
            Step::WaitIdle(settings) => entries(serializer, [("wait_idle", settings)]),
            Step::CoolDown(settings) => entries(serializer, [("cool_down", settings)]),
            Step::Run(run) if run.on.is_none() && !run.sudo && run.timeout.is_none() => {
                run.command.serialize(serializer)
            }
            Step::Run(run) => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("run", &run.command)?;
                map.serialize_entry("on", &run.on)?;
                if run.sudo {
                    map.serialize_entry("sudo", &true)?;
                }
                map.serialize_entry("timeout", &run.timeout)?;
                map.end()
            }
        }
    }
}

impl Serialize for WaitIdle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("load_below", &self.load_below)?;
        map.serialize_entry("within", &self.within)?;
        map.end()
    }
}

impl Serialize for CoolDown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("below", &self.below.to_string())?;
        map.serialize_entry("within", &self.within)?;
        if self.optional {
            map.serialize_entry("optional", &true)?;
        }
        map.end()
    }
}

impl Serialize for Upload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.to {
            None => self.from.serialize(serializer),
            Some(to) => entries(serializer, [("from", &self.from), ("to", to)]),
        }
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (axis, values) in &self.axes.0 {
            map.serialize_entry(axis, values)?;
        }
        for (key, groups) in [("zip", &self.zip), ("include", &self.include)] {
            if !groups.is_empty() {
                map.serialize_entry(key, groups)?;
            }
        }
        if !self.exclude.is_empty() {
            map.serialize_entry("exclude", &self.exclude)?;
        }
        map.serialize_entry("repetitions", &self.repetitions)?;
        map.serialize_entry("warmup", &self.warmup)?;
        map.end()
    }
}

impl Serialize for Axes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        entries(serializer, self.0.iter().map(|(axis, values)| (axis, values)))
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Values::List(list) => list.serialize(serializer),
            Values::Range(range) => range.fields.serialize(serializer),
        }
    }
}

impl Serialize for Exclude {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Exclude::Expression(text) => serializer.serialize_str(text),
            Exclude::Values(axes) => axes.serialize(serializer),
        }
    }
}

fn entries<S: Serializer, K: Serialize, V: Serialize>(
    serializer: S,
    entries: impl IntoIterator<Item = (K, V)>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (key, value) in entries {
        map.serialize_entry(&key, &value)?;
    }
    map.end()
}
