//! Schemas of values that can be written in more ways than their type says. Each pattern lets a template
//! through, whose value is known later. Read [`form`] first.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::super::caches::{DropCaches, DropCachesFields, Layer};
use super::super::cost::{Cost, Price, Rates};
use super::super::host::{Ssh, SshFields};
use super::super::located::{List, Located, Text};
use super::super::repetitions::{Adaptive, Repetitions, Share};
use super::super::step::{Step, StepFields, Steps, Upload, UploadFields};
use super::super::time::TimeSpan;
use super::super::wait::Celsius;
use super::super::workload::Command;

/// A value with its place is written like the value alone. Text may be any scalar, since it keeps its letters.
impl<T: JsonSchema> JsonSchema for Located<T> {
    fn schema_name() -> Cow<'static, str> {
        if is_string::<T>() { "Text".into() } else { T::schema_name() }
    }
    fn schema_id() -> Cow<'static, str> {
        if is_string::<T>() { "Text".into() } else { T::schema_id() }
    }
    fn inline_schema() -> bool {
        !is_string::<T>() && T::inline_schema()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        match is_string::<T>() {
            true => json_schema!({ "type": ["string", "number", "boolean"] }),
            false => T::json_schema(generator),
        }
    }
}

fn is_string<T: JsonSchema>() -> bool {
    T::schema_id() == String::schema_id()
}

/// `JsonSchema` for a type, written out.
macro_rules! form {
    ($type:ty, $name:literal, |$generator:pat_param| $schema:tt) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}
pub(super) use form;

/// The schema of one `T` or a list of them.
pub(super) fn one_or_many<T: JsonSchema>(generator: &mut SchemaGenerator) -> serde_json::Value {
    let one = generator.subschema_for::<T>();
    serde_json::json!([one, { "type": "array", "items": one }])
}

form!(Price, "Price", |_| {
    "anyOf": [
        { "type": "number", "exclusiveMinimum": 0 },
        { "type": "string", "pattern": r"^[0-9.]+([eE][-+]?[0-9]+)?(\s+[\p{L}$€£¥₩]+)?$" },
    ]
});

form!(Cost, "Cost", |generator| {
    "anyOf": [generator.subschema_for::<Price>(), generator.subschema_for::<Rates>()]
});

form!(List, "List", |generator| { "anyOf": one_or_many::<Text>(generator) });
form!(Steps, "Steps", |generator| { "anyOf": one_or_many::<Step>(generator) });
form!(Command, "Command", |generator| {
    "anyOf": [
        { "type": ["string", "number", "boolean"], "pattern": r"\S" },
        { "type": "array", "items": generator.subschema_for::<Text>(), "minItems": 1 },
    ]
});
form!(DropCaches, "DropCaches", |generator| {
    "anyOf": [
        {
            "type": "array",
            "items": generator.subschema_for::<Layer>(),
            "minItems": 1,
            "uniqueItems": true,
        },
        generator.subschema_for::<DropCachesFields>(),
    ]
});
form!(Step, "Step", |generator| {
    "anyOf": [
        {
            "const": "drop_caches",
            "description": "Writes the page cache back and empties it on the machine that owns it.",
        },
        { "const": "wait_idle", "description": "Waits until the machine has nothing to do." },
        generator.subschema_for::<Text>(),
        generator.subschema_for::<StepFields>(),
    ]
});
form!(Upload, "Upload", |generator| {
    "anyOf": [generator.subschema_for::<Text>(), generator.subschema_for::<UploadFields>()]
});
form!(Ssh, "Ssh", |generator| { "anyOf": [{ "type": "string" }, generator.subschema_for::<SshFields>()] });
form!(Repetitions, "Repetitions", |generator| {
    "anyOf": [{ "type": "integer", "minimum": 1 }, generator.subschema_for::<Adaptive>()]
});
form!(Share, "Share", |_| { "type": "string", "pattern": r"^\s*(\d+\.?\d*|\.\d+)\s*%\s*$" });
form!(TimeSpan, "Duration", |_| {
    "type": "string",
    "pattern": concat!(
        r"^\s*\+?(\d+([.,]\d+)?\s*(h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?",
        r"|ms|msecs?|millis?|milliseconds?|[uµμ]s|[uµμ]secs?|micros?|microseconds?",
        r"|ns|nsecs?|nanos?|nanoseconds?),?\s*)+$",
    ),
});

form!(Celsius, "Temperature", |_| { "type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*°?C\s*$" });

/// One entry of `files`, or a list of them.
pub struct Files;
form!(Files, "Files", |generator| { "anyOf": one_or_many::<Upload>(generator) });

/// One exit code, or a list of them.
pub struct ExitCodes;
form!(ExitCodes, "ExitCodes", |_| {
    "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": 255 },
        { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 255 } },
    ]
});

/// A number of CPUs.
pub struct Cpus;
form!(Cpus, "Cpus", |_| {
    "type": ["number", "string"], "exclusiveMinimum": 0, "pattern": r"^\d*\.?\d+$|\{[{%#]"
});

/// An amount of memory.
pub struct Amount;
form!(Amount, "Amount", |_| {
    "type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*([kKMGT]i?)?B\s*$|\{[{%#]"
});

/// `true`, `false`, or a template that becomes one of them.
pub struct Flag;
form!(Flag, "Flag", |_| {
    "anyOf": [{ "type": "boolean" }, { "type": "string", "pattern": r"^(true|false)$|\{[{%#]" }]
});

/// A whole path.
pub struct Folder;
form!(Folder, "Folder", |_| { "type": "string", "pattern": r"^/|\{[{%#]" });

/// A TCP port.
pub struct Port;
form!(Port, "Port", |_| {
    "type": ["integer", "string"], "minimum": 1, "maximum": 65535, "pattern": r"^\d+$|\{[{%#]"
});
