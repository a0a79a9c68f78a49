//! Several files into one [`Spec`]: `include`, and the declarations of `--hosts`. The files are asked for
//! one after the other, so that reading them stays outside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::set::{Document, Set};
use super::{FILE_LIMIT, Spec, host, parse};
use crate::diagnostic::{Problem, Problems, Sources, Span};

/// How many files may be included, and how many one in the other.
const INCLUDES: usize = 256;
const INCLUDES_DEEP: usize = 16;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fragment {
    /// The experiment itself.
    Experiment,
    /// A file given with `--hosts`: its declarations replace those of the same name.
    Hosts,
}

/// Reads an experiment with the help of `read`, which gives the text of a path.
pub struct Reader<'a> {
    /// Every file that was read.
    pub sources: Sources,
    read: &'a dyn Fn(&Path) -> Result<String, String>,
    /// Files that an include has brought in already: their declarations are there.
    included: BTreeSet<PathBuf>,
    problems: Vec<Problem>,
    /// What `--set` changes, as it was given.
    sets: Vec<String>,
    /// Files whose text was changed by that.
    edited: BTreeMap<PathBuf, String>,
}

impl<'a> Reader<'a> {
    /// A reader; `read` gives a file's text, or why it can't be read.
    pub fn new(read: &'a dyn Fn(&Path) -> Result<String, String>) -> Self {
        Reader {
            sources: Sources::default(),
            read,
            included: BTreeSet::new(),
            problems: Vec::new(),
            sets: Vec::new(),
            edited: BTreeMap::new(),
        }
    }

    /// The same with values set, each as `PATH=VALUE`: keys and places in lists with dots between them, and
    /// YAML. A declaration is changed in the file whose declaration counts, everything else in the
    /// experiment. Mistakes in them come with those of the files.
    #[must_use]
    pub fn with_sets(mut self, sets: &[String]) -> Self {
        self.sets = sets.to_vec();
        self
    }

    /// Reads the experiment and its includes, then what replaces parts of it.
    ///
    /// # Errors
    /// Every mistake of form found in any of the files.
    pub fn read(mut self, files: &[(Fragment, &Path)]) -> Result<(Spec, Sources), Problems> {
        if !self.sets.is_empty() {
            self.set(files);
        }
        let mut spec = Spec::default();
        for (fragment, path) in files {
            let Some(read) = self.file(path, None, &mut Vec::new()) else { continue };
            match fragment {
                Fragment::Experiment => {
                    spec = read;
                    spec.hosts = host::counted(spec.hosts, &mut self.problems);
                }
                Fragment::Hosts => {
                    self.has_only(&read, &["hosts", "environments"], "a file given with `--hosts`");
                    host::replace(&mut spec.hosts, host::counted(read.hosts, &mut self.problems));
                    let new = read.environments.keys().filter(|name| !spec.environments.contains_key(*name));
                    spec.offered.extend(new.map(|name| name.value.clone()));
                    spec.environments.extend(read.environments);
                }
            }
        }
        if self.problems.is_empty() {
            Ok((spec, self.sources))
        } else {
            Err(Problems { hides_others: true, ..Problems::new(self.problems, self.sources) })
        }
    }

    /// A first reading finds every file; the next one sees the changed texts.
    fn set(&mut self, files: &[(Fragment, &Path)]) {
        let mut first = Reader::new(self.read);
        let mut documents = Vec::new();
        for (fragment, path) in files {
            let start = first.sources.len();
            first.file(path, None, &mut Vec::new());
            for source in (start..).map_while(|file| first.sources.get(file)) {
                // A hosts file counts before the experiment, and that before what it includes.
                let rank = (source.path != *path, *fragment == Fragment::Experiment);
                let (path, text) = (source.path.clone(), source.text.to_string());
                documents.push((rank, Document { path, text, is_edited: false }));
            }
        }
        documents.sort_by_key(|(rank, _)| *rank);
        let Some(experiment) = documents.iter().position(|(rank, _)| *rank == (false, true)) else { return };
        let mut documents: Vec<Document> = documents.into_iter().map(|(_, document)| document).collect();
        for set in &self.sets {
            let done = Set::parse(set).and_then(|set| set.apply(&mut documents, experiment));
            self.problems.extend(done.err());
        }
        let edited = documents.into_iter().filter(|document| document.is_edited);
        self.edited = edited.map(|document| (document.path, document.text)).collect();
    }

    /// Reads one file and what it includes; `at` is where it was asked for.
    fn file(&mut self, path: &Path, at: Option<Span>, including: &mut Vec<PathBuf>) -> Option<Spec> {
        let edited = self.edited.get(path).cloned();
        let name = match edited {
            Some(_) => PathBuf::from(format!("{} (with --set)", path.display())),
            None => path.to_owned(),
        };
        let text = match edited.map_or_else(|| (self.read)(path), Ok) {
            Ok(text) if text.len() > FILE_LIMIT => {
                let message = format!("`{}` is larger than {} MiB", path.display(), FILE_LIMIT >> 20);
                self.problems.push(Problem::of_file(message).help("split it, and `include` the parts"));
                return None;
            }
            Ok(text) => text,
            Err(reason) => {
                let message = format!("can't read `{}`: {reason}", path.display());
                self.problems.push(match at {
                    None => Problem::of_file(message),
                    Some(span) => {
                        Problem::at(span, message).help("write a path that starts at the folder of this file")
                    }
                });
                return None;
            }
        };
        let file = self.sources.add(&name, text);
        let text = self.sources.get(file)?.text.clone();
        let (spec, problems) = parse::parse(file, &text);
        self.problems.extend(problems);
        let mut spec = spec?;
        including.push(plain(path));
        let mut included = Spec::default();
        for name in std::mem::take(&mut spec.include.values) {
            let target = self.sources.directory(name.span).join(&name.value);
            let place = plain(&target);
            if including.contains(&place) {
                let problem =
                    Problem::at(name.span, "an include loop").label("this file is included by itself");
                self.problems.push(problem.help("remove one of the includes"));
            } else if self.included.contains(&place) {
                continue;
            } else if including.len() > INCLUDES_DEEP || self.included.len() >= INCLUDES {
                let message =
                    format!("more than {INCLUDES} included files, or {INCLUDES_DEEP} one in the other");
                self.problems.push(Problem::at(name.span, message).help("put declarations into fewer files"));
                break;
            } else {
                self.included.insert(place);
                let Some(other) = self.file(&target, Some(name.span), including) else { continue };
                self.has_only(&other, &["hosts", "environments", "workloads"], "an included file");
                self.absorb(&mut included, other, &spec);
            }
        }
        including.pop();
        Some(over(included, spec))
    }

    /// What the last file declares beyond `allowed` would be lost without a word.
    fn has_only(&mut self, spec: &Spec, allowed: &[&str], what: &str) {
        let has = [
            ("workloads", spec.workloads.keys().next().map(|name| name.span)),
            ("title", spec.title.as_ref().map(|title| title.span)),
            ("matrix", spec.matrix.first().map(|block| block.span)),
            ("repetitions", spec.repetitions.as_ref().map(|count| count.span)),
            ("warmup", spec.warmup.as_ref().map(|count| count.span)),
            ("order", spec.order.as_ref().map(|order| order.span)),
            ("seed", spec.seed.as_ref().map(|seed| seed.span)),
            ("timeout", spec.timeout.as_ref().map(|time| time.span)),
            ("trial_timeout", spec.trial_timeout.as_ref().map(|time| time.span)),
            ("deadline", spec.deadline.as_ref().map(|time| time.span)),
            ("retries", spec.retries.as_ref().map(|count| count.span)),
            ("on_failure", spec.on_failure.as_ref().map(|word| word.span)),
            ("report", spec.report.first_span()),
        ];
        for (key, span) in has.into_iter().filter(|(key, _)| !allowed.contains(key)) {
            let Some(span) = span else { continue };
            let allowed = allowed.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            self.problems.push(
                Problem::at(span, format!("`{key}` has no effect in {what}"))
                    .help(format!("move it to the experiment; only {allowed} are taken from here")),
            );
        }
    }

    /// Adds a second include to a first; a name in both is a mistake, unless the including file has it too.
    fn absorb(&mut self, included: &mut Spec, other: Spec, own: &Spec) {
        macro_rules! absorb {
            ($section:ident) => {
                for (name, value) in other.$section {
                    let first = included.$section.get_key_value(&name);
                    if let Some((first, _)) = first.filter(|_| !own.$section.contains_key(&name)) {
                        self.problems.push(
                            Problem::at(
                                name.span,
                                format!("`{}` is declared by two included files", name.value),
                            )
                            .label("the second one")
                            .also(first.span, "the first one")
                            .help("rename one, or declare it in the including file, which then wins"),
                        );
                    }
                    included.$section.insert(name, value);
                }
            };
        }
        absorb!(hosts);
        absorb!(environments);
        absorb!(workloads);
    }
}

/// A path as far as it tells: `parts/../x.yaml` is `x.yaml`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |plain, part| match part {
        Component::CurDir => plain,
        Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
            plain.parent().map(Path::to_owned).unwrap_or_default()
        }
        part => plain.join(part),
    })
}

/// `own` declarations over `included` ones, in whose place they stand.
fn over(included: Spec, mut own: Spec) -> Spec {
    fn merge<V>(under: indexmap::IndexMap<super::Text, V>, over: &mut indexmap::IndexMap<super::Text, V>) {
        let mut merged = under;
        for (name, value) in std::mem::take(over) {
            merged.shift_remove(&name);
            merged.insert(name, value);
        }
        *over = merged;
    }
    merge(included.hosts, &mut own.hosts);
    merge(included.environments, &mut own.environments);
    merge(included.workloads, &mut own.workloads);
    own
}
