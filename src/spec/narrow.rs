//! What the command line changes of a matrix: other values for an axis, or only the cells for which something
//! holds. The result is a spec like any other, and can be kept as one. It comes before `check`; what has
//! no effect any more is removed by `plan::settle` after it.

use super::check::{AXES, LOCALHOST, NATIVE};
use super::matrix::{Axes, Block, Exclude, Values};
use super::template;
use super::{List, Located, Spec, Text};
use crate::diagnostic::{Problem, Sources, suggest};

impl Spec {
    /// Leaves of `axis` these values in every block; what no block has is new, and comes on top.
    /// An entry of an `include` that names the axis stays where its value is one of these.
    ///
    /// # Errors
    /// An axis, host, environment or workload that nobody declares, no cell left.
    pub fn replace_axis(&mut self, axis: &str, values: &[String]) -> Result<(), Problem> {
        self.must_have(axis, values)?;
        self.split_blocks(|entry| {
            let Some(written) = entry.get(axis) else { return true };
            let left = values.iter().filter(|value| written.position(value).is_some());
            let left: Vec<Text> = left.cloned().map(Text::unwritten).collect();
            let is_kept = !left.is_empty();
            entry.set(axis, Values::list(left));
            is_kept
        });
        let mut matrix = std::mem::take(&mut self.matrix);
        let is_known = |value: &&String| matrix.iter().any(|block| position(block, axis, value).is_some());
        let (known, mut new): (Vec<&String>, Vec<&String>) = values.iter().partition(is_known);
        matrix.retain_mut(|block| {
            let has_axis = block.axes.has(axis) || block.zip.iter().any(|group| group.has(axis));
            if axis == "workload" || known.is_empty() || !has_axis {
                return self.replace_in(&mut block.value, axis, values);
            }
            // Each block keeps what it has of them; what none has goes to the first that keeps some.
            let own: Vec<&String> =
                known.iter().copied().filter(|value| position(block, axis, value).is_some()).collect();
            let is_left = !own.is_empty();
            if is_left {
                let mut own: Vec<String> = own.into_iter().cloned().collect();
                match block.axes.has(axis) {
                    true => {
                        own.extend(std::mem::take(&mut new).into_iter().cloned());
                        self.replace_in(&mut block.value, axis, &own);
                    }
                    false => keep_rows(&mut block.value, axis, &own),
                }
            }
            is_left
        });
        self.matrix = matrix;
        self.must_be_left(&format!("`{axis}` is not measured with {}", values.join(", ")))
    }

    /// Keeps the cells for which `expression` is true. A cell without a parameter that it names is not kept.
    ///
    /// # Errors
    /// An expression that is none, a name that no cell has, no cell left.
    pub fn keep_where(&mut self, expression: &str) -> Result<(), Problem> {
        let parameters = self.workloads.values().flat_map(|workload| workload.parameters.keys());
        let names = self.cell_names(parameters);
        let mistakes = names.check_expression(expression, Default::default(), &Sources::default());
        if let Some(problem) = mistakes.into_iter().next() {
            return Err(Problem { span: None, ..problem });
        }
        let named = template::names(expression);
        let needed: Vec<&str> =
            named.iter().map(String::as_str).filter(|name| !AXES.contains(name) && *name != "env").collect();
        self.split_blocks(|_| true);
        let mut matrix = std::mem::take(&mut self.matrix);
        matrix.retain_mut(|block| {
            let has = |name: &Text| {
                let parameters = self.workloads.get(name.as_str()).map(|workload| &workload.parameters);
                parameters.is_some_and(|parameters| needed.iter().all(|name| parameters.contains_key(*name)))
            };
            let is_kept = self.keep_workloads(&mut block.value, has);
            let exclude = Exclude::Expression(format!("not ({expression})"));
            block.value.exclude.push(Located::unwritten(exclude));
            is_kept
        });
        self.matrix = matrix;
        self.must_be_left(&format!("no workload has every parameter that `{expression}` names"))
    }

    /// What the command line names must be declared.
    fn must_have(&self, axis: &str, values: &[String]) -> Result<(), Problem> {
        let parameters = self.workloads.values().flat_map(|workload| workload.parameters.keys());
        let known: Vec<&str> = AXES.into_iter().chain(parameters.map(|name| name.as_str())).collect();
        if !known.contains(&axis) {
            return Err(Problem::of_file(format!("unknown axis `{axis}`")).help(suggest(axis, known)));
        }
        let names: Vec<&str> = match axis {
            "workload" => self.workloads.keys().map(|name| name.as_str()).collect(),
            "host" if self.hosts.is_empty() => vec![LOCALHOST],
            "host" => self.hosts.keys().map(|name| name.as_str()).collect(),
            "environment" => self.environments.keys().map(|name| name.as_str()).chain([NATIVE]).collect(),
            _ => return Ok(()),
        };
        match values.iter().find(|value| !names.contains(&value.as_str())) {
            Some(value) => {
                Err(Problem::of_file(format!("unknown {axis} `{value}`")).help(suggest(value, names)))
            }
            None => Ok(()),
        }
    }

    fn must_be_left(&self, message: &str) -> Result<(), Problem> {
        // A matrix without a block would stand for everything.
        match self.matrix.is_empty() {
            true => Err(Problem::of_file(message).help("relax what the command line asks for")),
            false => Ok(()),
        }
    }

    /// Makes a block of each entry of an `include` that `keep` keeps, and one block where there is none.
    fn split_blocks(&mut self, keep: impl Fn(&mut Axes) -> bool) {
        if self.matrix.is_empty() {
            self.matrix.push(Located::default());
        }
        for mut block in std::mem::take(&mut self.matrix) {
            let mut entries = std::mem::take(&mut block.value.include);
            let blocks = entries.iter_mut().filter_map(|entry| {
                let value = keep(&mut entry.value).then(|| with_entry(&block, &entry.value))?;
                Some(Located { value, span: entry.span })
            });
            let blocks: Vec<_> = blocks.collect();
            self.matrix.push(block);
            self.matrix.extend(blocks);
        }
    }

    /// Whether the block is still there.
    fn replace_in(&self, block: &mut Block, axis: &str, values: &[String]) -> bool {
        if axis == "workload" {
            return self.keep_workloads(block, |name| values.contains(&name.value));
        }
        let is_axis = AXES.contains(&axis)
            || self.workloads_of(block).iter().any(|name| {
                self.workloads
                    .get(name.as_str())
                    .is_some_and(|workload| workload.parameters.contains_key(axis))
            });
        if is_axis {
            block.axes.set(axis, Values::list(values.iter().cloned().map(Text::unwritten).collect()));
        }
        true
    }

    /// The names of a block's workloads.
    fn workloads_of(&self, block: &Block) -> Vec<Text> {
        match block.axes.get("workload") {
            Some(values) => values.written().to_vec(),
            None => self.workloads.keys().cloned().collect(),
        }
    }

    /// Takes the other workloads out of a block, with all that only they have. Whether one is left.
    fn keep_workloads(&self, block: &mut Block, keep: impl Fn(&Text) -> bool) -> bool {
        let (left, out): (Vec<Text>, Vec<Text>) = self.workloads_of(block).into_iter().partition(keep);
        if out.is_empty() {
            return true;
        }
        let is_left = !left.is_empty();
        let workloads = left.iter().filter_map(|name| self.workloads.get(name.as_str()));
        let parameters: Vec<String> = workloads
            .flat_map(|workload| workload.parameters.keys())
            .map(|name| name.value.clone())
            .collect();
        block.axes.set("workload", Values::list(left));
        let is_known = |name: &str| AXES.contains(&name) || parameters.iter().any(|known| known == name);
        block.axes.0.retain(|(name, _)| is_known(name));
        for group in &mut block.zip {
            group.value.0.retain(|(name, _)| is_known(name));
        }
        block.zip.retain(|group| !group.0.is_empty());
        block.exclude.retain(|exclude| match &exclude.value {
            Exclude::Values(axes) => axes.names().all(|name| is_known(name)),
            Exclude::Expression(text) => {
                template::names(text).iter().all(|name| name == "env" || is_known(name))
            }
        });
        is_left
    }
}

/// Where a block has `value` on `axis`, alone or in a zipped group.
fn position(block: &Block, axis: &str, value: &str) -> Option<usize> {
    let zipped = block.zip.iter().filter_map(|group| group.get(axis));
    block.axes.get(axis).into_iter().chain(zipped).find_map(|written| written.position(value))
}

/// Leaves of the zipped group with `axis` the combinations that have one of these values there.
fn keep_rows(block: &mut Block, axis: &str, values: &[String]) {
    let Some(group) = block.zip.iter_mut().find(|group| group.has(axis)) else { return };
    let rows: Vec<usize> = group
        .get(axis)
        .map(|written| values.iter().filter_map(|value| written.position(value)).collect())
        .unwrap_or_default();
    for (_, written) in &mut group.value.0 {
        let left = rows.iter().map(|row| Text::unwritten(written.get(*row).into_owned())).collect();
        *written = Values::List(List { values: left, is_list: true });
    }
}

/// The block that an entry of its `include` stands for.
fn with_entry(block: &Block, entry: &Axes) -> Block {
    let mut axes = block.axes.clone();
    for (axis, values) in &entry.0 {
        axes.set(axis, values.clone());
    }
    let zip = block.zip.iter().filter(|group| !group.names().any(|name| entry.has(name))).cloned().collect();
    let (repetitions, warmup) = (block.repetitions.clone(), block.warmup.clone());
    Block { axes, zip, include: Vec::new(), exclude: Vec::new(), repetitions, warmup }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Spec;
    use crate::spec::{Fragment, Reader};

    fn spec(yaml: &str) -> Spec {
        let read = |_: &Path| Ok(yaml.to_owned());
        Reader::new(&read).read(&[(Fragment::Experiment, Path::new("x.yaml"))]).unwrap().0
    }

    const YAML: &str = "
environments: { docker: {} }
workloads:
  net: { parameters: { size: 64, server: native }, run: 'x {{ size }} {{ server }}' }
  disk: { run: x }
matrix:
  - { workload: [net, disk], size: [64, 512], exclude: [{ server: docker }, size == 64], include: [{ size: 9, workload: net }] }
  - { workload: net, zip: { size: [1, 2], server: [a, b] } }
";

    #[test]
    fn mistakes_of_the_command_line_are_told() {
        for (axis, value, message, help) in [
            ("siz", "1", "unknown axis `siz`", "did you mean `size`?"),
            ("host", "p5", "unknown host `p5`", "use `localhost`"),
            ("environment", "nativ", "unknown environment `nativ`", "did you mean `native`?"),
        ] {
            let problem = spec(YAML).replace_axis(axis, &[value.to_owned()]).unwrap_err();
            assert_eq!(problem.message, message);
            assert!(problem.help.unwrap().contains(help));
        }
        for (expression, message) in [
            ("sized > 1", "unknown name `sized`"),
            ("size >", "bad expression: unexpected end of input, expected expression"),
        ] {
            let problem = spec(YAML).keep_where(expression).unwrap_err();
            assert_eq!(problem.message, message);
            assert!(problem.span.is_none());
        }
    }

    #[test]
    fn each_block_keeps_what_it_has_of_an_axis() {
        let kept = |values: &[&str]| {
            let mut spec = spec(YAML);
            let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
            spec.replace_axis("size", &values).unwrap();
            let sizes = spec.matrix.iter().map(|block| {
                let zipped = block.zip.iter().filter_map(|group| group.get("size"));
                block
                    .axes
                    .get("size")
                    .into_iter()
                    .chain(zipped)
                    .flat_map(|values| values.iter())
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            sizes.collect::<Vec<_>>()
        };
        assert_eq!(kept(&["1"]), ["1"], "a row of a zipped group");
        assert_eq!(kept(&["64", "2"]), ["64", "2"]);
        assert_eq!(kept(&["64", "7"]), ["64 7"], "7 is new");
        assert_eq!(kept(&["9"]), ["9"], "an entry of an include");
    }

    #[test]
    fn what_only_other_workloads_have_goes_with_them() {
        let mut narrowed = spec(YAML);
        narrowed.replace_axis("workload", &["disk".into()]).unwrap();
        assert!(
            narrowed.to_yaml().ends_with("matrix:\n- workload: disk\nreport: {}\n"),
            "{}",
            narrowed.to_yaml()
        );
        let mut narrowed = spec(YAML);
        narrowed.keep_where("size >= 2").unwrap();
        assert_eq!(narrowed.matrix.len(), 3);
        assert!(narrowed.matrix.iter().all(|block| block.axes.get("workload").unwrap().len() == 1));
    }
}
