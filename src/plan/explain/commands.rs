//! The commands of a cell in the order of a trial.

use super::super::PlannedService;
use super::super::substitute::Context;
use super::names::port_of;
use super::{Action, Teller};
use crate::diagnostic::Span;
use crate::spec::workload::{Command, Ready, RunStep, Step, Steps};

impl Teller<'_> {
    pub(super) fn actions(&self) -> Vec<Action> {
        let workload = self.workload();
        let mut actions = self.steps("setup", &workload.setup);
        for service in &self.cell.services {
            actions.extend(self.service(service));
        }
        actions.extend(self.steps("prepare", &workload.prepare));
        actions.push(self.command("run", self.inside(), &workload.run, &self.context));
        actions.extend(self.steps("conclude", &workload.conclude));
        actions.extend(self.steps("cleanup", &workload.cleanup));
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
        let sentence = |sign: &str| sign.to_owned() + &within;
        let written =
            sign.map(|(text, words)| sentence(&format!("{words}{}", text.value))).unwrap_or_default();
        let command = sign.map(|(text, words)| sentence(&format!("{words}{}", self.rendered(text, context))));
        let command = command.unwrap_or_default();
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
        let text = context.command(command).unwrap_or_else(|reason| format!("<known in the run: {reason}>"));
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
        let action = |whereabouts: String, command: String| Action {
            stage: stage.to_owned(),
            whereabouts,
            command,
            raw: None,
            place: self.sources.place(span),
        };
        match step {
            Step::Run(run) => {
                let text = self.rendered(&run.command, &self.context);
                let raw = (text != run.command.value).then(|| run.command.value.clone());
                Action { raw, ..action(self.place_of(run), text) }
            }
            Step::DropCaches => action(format!("{}, as root", self.cell.host), "drop_caches".to_owned()),
            Step::Sleep(time) => action("on no machine".to_owned(), format!("sleep {time}")),
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
