//! Rules on one environment: its paths, its limits, and the names in its templates.

use super::super::environment::{self as settings, Container};
use super::super::template::{Names, is_template};
use super::super::{Environment, Spec, Text};
use super::{NATIVE, steps, variable_names};
use crate::diagnostic::{Problem, Sources};

pub(super) fn check(
    spec: &Spec,
    name: &Text,
    environment: &Environment,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    // Which workload meets this environment is known only in the plan; here a name must be known to one.
    let names = spec.cell_names(spec.workloads.values().flat_map(|workload| workload.parameters.keys()));
    let Environment { workdir, env, setup, cleanup, shell, container } = environment;
    let texts = workdir.iter().chain(env.values()).chain(shell);
    problems.extend(texts.flat_map(|text| names.check(text, sources)));
    variable_names(env, problems);
    for steps in [setup, cleanup] {
        steps::check(spec, steps, &names, sources, problems);
    }
    let literal = |text: &&Text| !is_template(text);
    if let Some(workdir) = workdir.as_ref().filter(literal).filter(|workdir| !workdir.starts_with('/')) {
        problems.push(
            Problem::at(workdir.span, format!("`{}` is not a whole path", workdir.value))
                .help("start at `/`; `~` and variables are not replaced here"),
        );
    }
    if let Some(shell) = shell.as_ref().filter(literal).filter(|shell| settings::shell(shell).is_err()) {
        problems.push(
            Problem::at(shell.span, format!("`{}` is not a shell", shell.value))
                .help("write a program and its options, such as `bash -euo pipefail`"),
        );
    }
    if let Some(container) = container.as_ref().filter(|_| name.as_str() == NATIVE) {
        problems.push(
            Problem::at(container.span, "`native` is the machine itself, without a container")
                .help("give this environment another name, such as `docker`"),
        );
    }
    if let Some(container) = container {
        check_container(name, container, &names, sources, problems);
    }
}

fn check_container(
    name: &Text,
    container: &Container,
    names: &Names,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) {
    match (&container.image, &container.build) {
        (None, None) => problems.push(
            Problem::at(name.span, format!("container `{}` has no image", name.value))
                .help("add `image: NAME` or `build: FOLDER`"),
        ),
        (Some(_), Some(build)) => problems.push(
            Problem::at(build.span, format!("container `{}` has both `image` and `build`", name.value))
                .help("keep one of them"),
        ),
        _ => {}
    }
    problems.extend(container.texts().flat_map(|text| names.check(text, sources)));
    let mut value = |text: &Option<Text>, read: fn(&str) -> Result<(), String>| {
        let literal = text.as_ref().filter(|text| !is_template(text));
        let refused = literal.and_then(|text| read(text).err().map(|reason| Problem::at(text.span, reason)));
        problems.extend(refused);
    };
    value(&container.cpus, |text| settings::cpus(text).map(drop));
    value(&container.memory, |text| settings::memory(text).map(drop));
    value(&container.privileged, |text| settings::flag(text).map(drop));
}
