//! `report.html` in a real Chromium: opened, sorted, filtered, its numbers opened to their trials, by mouse and by
//! keyboard, without network, on screen and on paper. The lab is not needed.

mod browser;

use std::fs;
use std::path::{Path, PathBuf};

use browser::Browser;
use runner::record::read_run;
use runner::report::write;
use serde_json::json;
use tempfile::TempDir;

use crate::lab::ROOT;

/// A copy of the committed run, with its report made anew.
fn report() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let runs = fs::read_dir(Path::new(ROOT).join("results/docker-vs-native")).unwrap();
    let run = runs.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).max().unwrap();
    let copy = folder.path().join("run");
    copy_folder(&run, &copy);
    write(&copy).unwrap();
    let page = copy.join("report.html");
    (folder, page)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy_folder(&path, &copy),
            false => drop(fs::copy(&path, copy).unwrap()),
        }
    }
}

/// The values behind the fields of a column of the first table, from top to bottom.
fn values(browser: &mut Browser, column: usize) -> Vec<f64> {
    let fields = format!(
        "Array.from(document.querySelector('.sortable').tBodies[0].rows).map(r => Number(r.cells[{column}].dataset.value))"
    );
    serde_json::from_value(browser.value(&fields)).unwrap()
}

/// Nothing failed, nothing was said on the console, and the page itself is all that was asked for.
#[track_caller]
fn assert_quiet(browser: &mut Browser, page: &Path) {
    let loaded = browser.value("performance.getEntriesByType('resource').length");
    assert_eq!(loaded, json!(0));
    assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
    assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
}

#[test]
fn html_tables_are_sorted_by_value_and_filtered_by_words() {
    let (_folder, page) = report();
    let Some(mut browser) = Browser::open(&page) else { return };
    assert_eq!(browser.texts("h1"), ["Docker against native on three LattePandas"]);
    assert!(browser.texts("nav a").contains(&"Disk (MB/s)".to_owned()));

    let before = values(&mut browser, 1);
    let mut sorted = before.clone();
    sorted.sort_by(f64::total_cmp);
    assert_ne!(before, sorted, "the test would show nothing");
    browser.click(".sortable th:nth-child(2) button");
    assert_eq!(values(&mut browser, 1), sorted);
    let state = "document.querySelector('.sortable th:nth-child(2)').getAttribute('aria-sort')";
    assert_eq!(browser.value(state), json!("ascending"));
    // Once more, with the key that presses a button.
    browser.value("document.querySelector('.sortable th:nth-child(2) button').focus()");
    browser.press("Enter");
    sorted.reverse();
    assert_eq!(values(&mut browser, 1), sorted);
    assert_eq!(browser.value(state), json!("descending"));
    browser.click(".sortable th:first-child button");
    let hosts = browser.texts(".sortable:first-of-type tbody td:first-child");
    assert_eq!(hosts[..3], ["lattepanda-a", "lattepanda-a †", "lattepanda-b"]);
    assert_eq!(browser.value(state), json!(null), "only one column is the sorted one");

    let rows = browser.texts(".sortable tbody tr").len();
    browser.value("document.querySelector('#filter').focus()");
    browser.type_text("PANDA-B");
    let kept = browser.texts(".sortable tbody tr");
    assert_eq!(
        kept.len(),
        8,
        "of two tables two and one of comparisons, of a warning, of cache drops: {kept:#?}"
    );
    assert!(kept.iter().all(|row| row.contains("lattepanda-b")));
    assert_eq!(browser.texts("#found"), [format!("8 of {rows} rows")]);
    browser.value("document.querySelector('#filter').select()");
    browser.type_text("nothing has this");
    assert_eq!(browser.texts(".sortable tbody tr").len(), 0);
    assert_quiet(&mut browser, &page);
}

#[test]
fn html_numbers_open_to_their_trials_by_keyboard() {
    let (_folder, page) = report();
    let Some(mut browser) = Browser::open(&page) else { return };
    let run = read_run(page.parent().unwrap()).unwrap();

    // From the top: the link that leaps over the head, the filter, the contents, the first table.
    let focused = "document.activeElement.outerHTML.slice(0, 200)";
    let mut seen = Vec::new();
    for _ in 0..30 {
        browser.press("Tab");
        seen.push(browser.value(focused).as_str().unwrap().to_owned());
        if browser.value("document.activeElement.matches('button.open')") == json!(true) {
            break;
        }
    }
    assert!(seen[0].contains("class=\"skip\"") && seen[1].contains("id=\"filter\""), "{seen:#?}");
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.value(outline), json!("solid"), "what has the focus is seen");
    let data: Vec<String> = serde_json::from_value(
        browser.value("[document.activeElement.dataset.cell, document.activeElement.dataset.metric]"),
    )
    .unwrap();
    assert_eq!(data, ["network/lattepanda-a/native/server=native", "throughput_sent"]);
    browser.press("Enter");
    browser.wait_for("document.querySelector('#panel').open");
    assert_eq!(browser.texts("#panel-title"), [data.join(": ")]);
    let rows = browser.texts("#panel .trial");
    let records: Vec<_> = run.records.iter().filter(|record| record.cell == data[0]).collect();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        let value = record.measured().find(|(metric, _)| metric.name == data[1]).unwrap().1;
        assert!(row.contains(&value.to_string()) && row.contains(&record.start()), "{value} is not in {row}");
    }
    browser.press("Escape");
    browser.wait_for("!document.querySelector('#panel').open");
    assert_eq!(browser.value("document.activeElement.className"), json!("open"), "the focus is where it was");
    assert_quiet(&mut browser, &page);
}

#[test]
fn html_shows_what_a_trial_has_printed() {
    let (_folder, page) = report();
    let Some(mut browser) = Browser::open(&page) else { return };
    let run = read_run(page.parent().unwrap()).unwrap();
    browser.click("button.open[data-cell='disk-write/lattepanda-b/docker']");
    browser.wait_for("document.querySelector('#panel').open");
    browser.click("#panel .printed summary");
    browser.wait_for("document.querySelector('#panel details').open");
    let record = run.records.iter().find(|record| record.cell == "disk-write/lattepanda-b/docker").unwrap();
    let output = &record.words().outputs[0];
    let printed = fs::read_to_string(page.parent().unwrap().join(&output.path)).unwrap();
    assert!(printed.contains("bytes"), "{printed}");
    assert_eq!(browser.texts("#panel .printed pre")[0].trim(), printed.trim());
    // The link beside it leads to the file.
    let link = browser.value("document.querySelector('#panel .printed a').href");
    let link = link.as_str().unwrap().strip_prefix("file://").unwrap().replace("%3D", "=");
    assert_eq!(fs::read_to_string(link).unwrap(), printed);
    assert_eq!(&browser.picture("panel.png")[..4], b"\x89PNG");
    browser.click("#close");
    browser.wait_for("!document.querySelector('#panel').open");
    assert_quiet(&mut browser, &page);
}

#[test]
fn html_is_seen_by_day_by_night_and_on_paper() {
    let (_folder, page) = report();
    let Some(mut browser) = Browser::open(&page) else { return };
    let paper = "getComputedStyle(document.body).backgroundColor";
    let mut seen = Vec::new();
    for scheme in ["light", "dark"] {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.ask("Emulation.setEmulatedMedia", json!({ "features": feature }));
        seen.push(browser.value(paper));
        assert_eq!(&browser.picture(&format!("{scheme}.png"))[..4], b"\x89PNG");
    }
    assert_eq!(seen, [json!("rgb(255, 255, 255)"), json!("rgb(21, 24, 27)")]);
    browser.ask("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert_eq!(browser.value(paper), json!("rgb(255, 255, 255)"));
    assert_eq!(browser.texts("nav a, form input"), Vec::<String>::new(), "what is of no use on paper");
    assert_eq!(browser.texts(".sortable").len(), 7, "two of values, two of comparisons, three of remarks");
    let sheet = json!({ "width": 794, "height": 1123, "deviceScaleFactor": 1, "mobile": false });
    browser.ask("Emulation.setDeviceMetricsOverride", sheet);
    let cut_off = "Array.from(document.querySelectorAll('td, th, p')).filter(e => \
        e.getBoundingClientRect().right > 794.5 && !e.closest('.hidden')).map(e => e.outerHTML.slice(0, 100))";
    assert_eq!(browser.value(cut_off), json!([]), "a sheet of A4 has room for every table");
    browser.picture("paper.png");
    let pdf = browser.picture("report.pdf");
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 10_000);
    // Nothing is cut off on a narrow screen: what is wide scrolls by itself.
    browser.ask("Emulation.setEmulatedMedia", json!({ "media": "screen" }));
    let narrow = json!({ "width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": true });
    browser.ask("Emulation.setDeviceMetricsOverride", narrow);
    let wide = "Array.from(document.querySelectorAll('body *')).filter(e => !e.closest('.scroll, .hidden') && \
        e.getBoundingClientRect().right > 360.5).map(e => e.outerHTML.slice(0, 100))";
    assert_eq!(browser.value(wide), json!([]));
    browser.picture("narrow.png");
    assert_quiet(&mut browser, &page);
}

#[test]
fn html_that_fails_or_loads_something_is_seen_by_these_tests() {
    let (_folder, page) = report();
    let text = fs::read_to_string(&page).unwrap();
    let more = "<img src=\"http://example.com/x.png\"><script>undefined.x</script></body>";
    fs::write(&page, text.replace("</body>", more)).unwrap();
    let Some(mut browser) = Browser::open(&page) else { return };
    browser.value("1");
    assert!(!browser.complaints().is_empty());
    assert_eq!(browser.requests().len(), 2);
}
