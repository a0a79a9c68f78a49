//! The commands of a cell in the order of a trial.

use super::super::PlannedService;
use super::super::substitute::Context;
use super::names::port_of;
use super::{Action, Teller};
use crate::diagnostic::Span;
use crate::spec::Text;
use crate::spec::caches::{DropCaches, Layer};
use crate::spec::service::Ready;
use crate::spec::step::{RunStep, Step, Steps, Upload};
use crate::spec::wait::{CoolDown, WaitIdle};
use crate::spec::workload::Command;

impl Teller<'_> {
    pub(super) fn actions(&self) -> Vec<Action> {
        let workload = self.workload();
        let environment = self.environment();
        let mut actions = self.steps("setup of the environment", &environment.setup);
        actions.extend(workload.files.iter().map(|file| self.upload("files", file, file.from.span)));
        actions.extend(self.steps("setup", &workload.setup));
        for service in &self.cell.services {
            actions.extend(self.service(service));
        }
        actions.extend(self.steps("prepare", &workload.prepare));
        actions.push(self.command("run", self.inside(), &workload.run, &self.context));
        actions.extend(self.steps("conclude", &workload.conclude));
        actions.extend(workload.fetch.values.iter().map(|path| self.action("fetch", self.inside(), path)));
        actions.extend(self.steps("cleanup", &workload.cleanup));
        actions.extend(self.steps("cleanup of the environment", &environment.cleanup));
        actions
    }

    /// Where the commands of the cell run.
    fn inside(&self) -> String {
        whereabouts(&self.cell.host, &self.cell.environment)
    }

    fn service(&self, service: &PlannedService) -> [Action; 2] {
        let declared = &self.workload().services[service.name.as_str()];
        let context = self.context.with("port", port_of(&service.name));
        let inside = whereabouts(&service.host, &service.environment);
        let stage = format!("service {}", service.name);
        let ready = self.ready(&service.name, &declared.ready, declared.ready.span, &context);
        [
            self.command(&stage, inside.clone(), &declared.run, &context),
            Action { whereabouts: inside, ..ready },
        ]
    }

    fn ready(&self, name: &str, ready: &Ready, span: Span, context: &Context) -> Action {
        let within = ready.within.as_ref().map(|time| format!(", within {}", time.value)).unwrap_or_default();
        let signs = [
            (&ready.port, "something listens on port "),
            (&ready.log, "its output matches "),
            (&ready.command, "this succeeds: "),
        ];
        let sign = signs.into_iter().find_map(|(text, words)| Some((text.as_ref()?, words)));
        let delay = ready.delay.as_ref().map(|time| format!("{} have passed", time.value));
        let sentence = |sign: &str| match &delay {
            Some(delay) => format!("{sign}{within}, and {delay}"),
            None => format!("{sign}{within}"),
        };
        let written =
            sign.map(|(text, words)| sentence(&format!("{words}{}", text.value))).unwrap_or_default();
        let command = sign.map(|(text, words)| sentence(&format!("{words}{}", self.rendered(text, context))));
        let command = command.or(delay.clone()).unwrap_or_default();
        let written = if written.is_empty() { command.clone() } else { written };
        Action {
            stage: format!("{name} is ready when"),
            whereabouts: String::new(),
            raw: (written != command).then_some(written),
            command,
            place: self.sources.place(span),
        }
    }

    fn command(&self, stage: &str, whereabouts: String, command: &Command, context: &Context) -> Action {
        let words: Vec<&str> = command.words.iter().map(|word| word.as_str()).collect();
        let written = words.join(" ");
        let words: Vec<String> = words.into_iter().map(|word| self.rendered(word, context)).collect();
        let text = if command.is_list { shell_words::join(words) } else { words.concat() };
        let span = command.words.first().map(|word| word.span).unwrap_or_default();
        Action {
            stage: stage.to_owned(),
            whereabouts,
            raw: (written != text).then_some(written),
            command: text,
            place: self.sources.place(span),
        }
    }

    fn steps(&self, stage: &str, steps: &Steps) -> Vec<Action> {
        steps.0.iter().map(|step| self.step(stage, &step.value, step.span)).collect()
    }

    fn step(&self, stage: &str, step: &Step, span: Span) -> Action {
        let plain = |whereabouts: String, command: String| {
            self.action(stage, whereabouts, &Text { value: command, span })
        };
        match step {
            Step::Run(run) => self.action(stage, self.place_of(run), &run.command),
            Step::DropCaches(DropCaches { of, optional }) => {
                let optional = if *optional { ", where possible" } else { "" };
                let name = |layer: &Layer| match layer {
                    Layer::Guest => self.cell.host.clone(),
                    Layer::Host => "this machine below it".to_owned(),
                };
                let machines = of.iter().map(name).collect::<Vec<_>>().join(", then ");
                plain(format!("{machines}, as root{optional}"), "drop_caches".to_owned())
            }
            Step::Sleep(time) => plain("on no machine".to_owned(), format!("sleep {time}")),
            Step::Upload(file) => self.upload(stage, file, span),
            Step::WaitIdle(WaitIdle { load_below, within }) => {
                plain(self.cell.host.clone(), format!("wait_idle: load below {load_below}, within {within}"))
            }
            Step::CoolDown(CoolDown { below, within, optional }) => {
                let optional = if *optional { ", where it has a sensor" } else { "" };
                let whereabouts = format!("{}{optional}", self.cell.host);
                plain(whereabouts, format!("cool_down: below {below}, within {within}"))
            }
        }
    }

    fn upload(&self, stage: &str, file: &Upload, span: Span) -> Action {
        let to = file.to.as_ref().map(|to| format!(" as {}", to.value)).unwrap_or_default();
        let written = Text { value: format!("upload {}{to}", file.from.value), span };
        self.action(stage, self.inside(), &written)
    }

    /// A text that is done as it is rendered.
    fn action(&self, stage: &str, whereabouts: String, text: &Text) -> Action {
        let command = self.rendered(text, &self.context);
        Action {
            stage: stage.to_owned(),
            whereabouts,
            raw: (command != text.value).then(|| text.value.clone()),
            command,
            place: self.sources.place(text.span),
        }
    }

    fn place_of(&self, run: &RunStep) -> String {
        let place = match run.on.as_deref().map(|on| on.as_str()) {
            None | Some("environment") => self.inside(),
            Some("host") => self.cell.host.clone(),
            Some(host) => host.to_owned(),
        };
        let root = if run.sudo { ", as root" } else { "" };
        let timeout = run.timeout.map(|time| format!(", at most {time}")).unwrap_or_default();
        format!("{place}{root}{timeout}")
    }
}

fn whereabouts(host: &str, environment: &str) -> String {
    format!("{host}, in {environment}")
}
