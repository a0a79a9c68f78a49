//! The schema of a block of the matrix. Its keys are axes, whose names the file chooses, so it is written out.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::super::located::{List, Text};
use super::super::matrix::{Block, Exclude};
use super::super::repetitions::Repetitions;
use super::forms::{form, one_or_many};

form!(Block, "Block", |generator| {
    "description": "A block of the matrix: the product of its axes and zipped groups, without what `exclude` \
        takes out, and with what `include` adds. An axis that it leaves out takes all that is declared; a \
        parameter takes its default.",
    "type": "object",
    "properties": {
        "workload": described::<List>(
            generator,
            "The workloads.\n\nDefault: all. Example: `workload: [read, write]`",
        ),
        "host": described::<List>(generator, "The hosts.\n\nDefault: all. Example: `host: [a, b]`"),
        "environment": described::<List>(
            generator,
            "The environments.\n\nDefault: all that are measured. Example: `environment: [native, docker]`",
        ),
        "zip": many::<Axes>(
            generator,
            "Groups of axes that move in lock-step, the first value of one with the first of the other. \
            Each group counts as one axis.\
            \n\nDefault: none. Example: `zip: [{ size: [1, 2], threads: [4, 8] }]`",
        ),
        "include": many::<Axes>(
            generator,
            "Combinations that are added: on the axes that an entry names, its values stand for those of the \
            block. `exclude` does not apply to them.\
            \n\nDefault: none. Example: `include: [{ size: 4096, threads: 1 }]`",
        ),
        "exclude": many::<Exclude>(
            generator,
            "Combinations that are left out: values of axes, or an expression.\
            \n\nDefault: none. Example: `exclude: [{ host: a, size: [1, 2] }, \"size > threads * 64\"]`",
        ),
        "repetitions": described::<Repetitions>(
            generator,
            "Measured trials of each cell of this block: a number, or `{ min, max, until }`.\
            \n\nDefault: the workload's `repetitions`. Example: `repetitions: 5`",
        ),
        "warmup": count(0, "Warm-up trials of each cell of this block.\
            \n\nDefault: the workload's `warmup`. Example: `warmup: 1`"),
    },
    "additionalProperties": described::<Axis>(
        generator,
        "The values of a parameter.\
        \n\nDefault: the workload's own value. Example: `size: { from: 1, to: 64, times: 2 }`",
    ),
});

form!(Exclude, "Exclude", |generator| {
    "anyOf": [{ "type": "string" }, generator.subschema_for::<Axes>()]
});

/// Axes by name.
struct Axes;
form!(Axes, "Axes", |generator| {
    "type": "object", "additionalProperties": generator.subschema_for::<Axis>()
});

/// The values of an axis.
struct Axis;
form!(Axis, "Axis", |generator| {
    "anyOf": [
        generator.subschema_for::<Text>(),
        { "type": "array", "items": generator.subschema_for::<Text>() },
        generator.subschema_for::<Range>(),
    ]
});

/// Values that are computed.
struct Range;
form!(Range, "Range", |generator| {
    "description": "Values that are computed: numbers, or amounts of data such as `4KiB`.",
    "type": "object",
    "properties": {
        "from": described::<Text>(
            generator,
            "The first value.\n\nExample: `{ from: 1, to: 8, step: 1 }`",
        ),
        "to": described::<Text>(
            generator,
            "No value lies beyond it; it need not be hit.\n\nExample: `{ from: 4KiB, to: 16MiB, times: 2 }`",
        ),
        "step": described::<Text>(
            generator,
            "What is added each time; negative to descend.\n\nExample: `{ from: 1, to: 0.5, step: -0.1 }`",
        ),
        "times": described::<Text>(
            generator,
            "What each value is multiplied with, a whole number above 1.\
            \n\nExample: `{ from: 1, to: 1024, times: 4 }`",
        ),
    },
    "required": ["from", "to"],
    "oneOf": super::exactly_one(&["step", "times"]),
    "additionalProperties": false,
});

fn described<T: JsonSchema>(generator: &mut SchemaGenerator, description: &str) -> Value {
    with(generator.subschema_for::<T>(), description)
}

fn many<T: JsonSchema>(generator: &mut SchemaGenerator, description: &str) -> Value {
    with(json_schema!({ "anyOf": one_or_many::<T>(generator) }), description)
}

fn count(minimum: u32, description: &str) -> Value {
    with(json_schema!({ "type": "integer", "minimum": minimum }), description)
}

fn with(mut schema: Schema, description: &str) -> Value {
    schema.insert("description".into(), description.into());
    schema.to_value()
}
