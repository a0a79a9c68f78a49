//! What people get wrong: every `tests/problems/bad-*.yaml` with the message that a user reads, as it stands
//! in the snapshot beside it. To add one, write the file and accept what `cargo test` shows.

use std::fs;
use std::path::{Path, PathBuf};

use runner::diagnostic::Problems;
use runner::plan::Plan;
use runner::spec::{self, Fragment, Reader};
use runner::ui::render_problems;

fn plan(file: &Path) -> Result<Plan, Problems> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|_| "there is no such file".to_owned());
    let (spec, sources) = Reader::new(&read).read(&[(Fragment::Experiment, file)])?;
    let found = runner::metrics::check(&spec, &sources);
    let spec = spec::check(spec, &sources, found)?;
    Plan::new(&spec, &sources)
}

fn bad_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir("tests/problems").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

#[test]
fn every_bad_file_gives_its_message() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../problems");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let files = bad_files();
    assert!(files.len() > 40, "{files:?}");
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let Err(problems) = plan(&file) else { panic!("{name} is accepted") };
        let text = render_problems(&problems, false, 100);
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}
