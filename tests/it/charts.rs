//! The pictures of a report. Each kind is drawn from a recorded run, its words and its data are compared with what stands
//! in the snapshots; what it looks like was looked at. Whatever a run holds, a picture is whole and has no value that is
//! none.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use roxmltree::{Document, Node};
use runner::analysis::summarise;
use runner::event::Status;
use runner::metrics::histogram::{Bucket, Histogram};
use runner::metrics::{Distribution, Measurement, Series};
use runner::record::{ChartKind, ChartLayout, LogAxes, Noise, Run, Suspicion, read_run};
use runner::report::chart::{Chart, charts};
use runner::report::{render, write};

use crate::report::change_lines;

const KINDS: [ChartKind; 7] = [
    ChartKind::Bars,
    ChartKind::Lines,
    ChartKind::Box,
    ChartKind::Ecdf,
    ChartKind::Histogram,
    ChartKind::Heatmap,
    ChartKind::Series,
];

const LOGS: [Option<LogAxes>; 5] =
    [None, Some(LogAxes::X), Some(LogAxes::Y), Some(LogAxes::Both), Some(LogAxes::None)];

/// A run of two hosts and two environments by hand: 6 trials of `network`, 3 of `disk-write`.
fn run() -> Run {
    read_run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/run-docker-vs-native")).unwrap()
}

fn drawn(run: &Run) -> Vec<Chart> {
    charts(run, &summarise(run)).unwrap()
}

/// The only chart of `run` with this layout.
fn draw(mut run: Run, layout: ChartLayout) -> Chart {
    run.manifest.charts = vec![layout];
    drawn(&run).into_iter().next().unwrap()
}

fn layout(kind: ChartKind, workload: &str) -> ChartLayout {
    ChartLayout { workloads: vec![workload.to_owned()], ..ChartLayout::new(kind) }
}

/// The words of a picture in the order in which they are drawn; `>` before those that a pointer shows.
fn words(svg: &str) -> String {
    let document = Document::parse(svg).unwrap();
    let told = |node: &Node<'_, '_>| match node.tag_name().name() {
        "text" => Some(node.text().unwrap_or_default().to_owned()),
        "title" => Some(format!("> {}", node.text().unwrap_or_default())),
        _ => None,
    };
    document.descendants().filter_map(|node| told(&node)).collect::<Vec<_>>().join("\n")
}

fn words_and_data(chart: &Chart) -> String {
    format!("{}.svg\n{}\n\n{}.csv\n{}", chart.name, words(&chart.svg), chart.name, chart.csv)
}

/// Block sizes in place of the servers, of which one has failed, for axes of numbers.
fn run_of_sizes() -> Run {
    let mut run = run();
    let sizes = [("lattepanda-a", "native", "4k"), ("lattepanda-a", "docker", "1M")];
    let size = |host: &str, environment: &str| {
        let known = sizes.iter().find(|(a, b, _)| (*a, *b) == (host, environment));
        known.map_or("64k", |(.., size)| size).to_owned()
    };
    for cell in run.manifest.cells.iter_mut().filter(|cell| cell.workload == "network") {
        cell.parameters = [
            ("block_size".to_owned(), size(&cell.host, &cell.environment)),
            ("threads".to_owned(), if cell.host.ends_with('a') { "1" } else { "2" }.to_owned()),
        ]
        .into();
    }
    for record in &mut run.records {
        if record.cell == "network/lattepanda-b/native/server=native" {
            record.status = Status::Failed;
        }
    }
    run
}

/// What a listing of two levels holds: ten ranges, and the first of them opened.
fn two_levels() -> Histogram {
    let bucket = |low: u32, width: u32, count| Bucket {
        low: f64::from(low) * 1e-6,
        high: f64::from(low + width) * 1e-6,
        count,
    };
    let opened = (0..10).map(|part| bucket(part * 4, 4, 100_000 >> part));
    let others = (1..10).map(|range| bucket(range * 40, 40, 64 >> (range % 4)));
    Histogram::new(opened.chain(others).collect()).unwrap()
}

/// A distribution and a series in each trial of `network`.
fn run_with_details() -> Run {
    let mut run = run();
    change_lines(&mut run, |lines| {
        for (number, line) in (0_u32..).zip(lines.iter_mut().filter(|one| one.workload == "network")) {
            line.details.histograms = vec![Distribution {
                name: "latency".to_owned(),
                unit: "s".to_owned().into(),
                labels: Default::default(),
                histogram: two_levels(),
            }];
            let points = (1..=3).map(|second| (f64::from(second), 9e8 + 1e6 * f64::from(number * second)));
            line.details.series = vec![Series {
                name: "throughput".to_owned(),
                unit: "bit/s".to_owned().into(),
                points: points.collect(),
            }];
        }
    });
    run
}

#[test]
fn bars_have_intervals_or_trials_and_a_word_for_what_failed() {
    let two = ChartLayout {
        title: Some("라떼판다: Disk & network <throughput>".to_owned()),
        workloads: vec!["network".to_owned(), "disk-write".to_owned()],
        facet: Some("workload".to_owned()),
        x: Some("host".to_owned()),
        series: vec!["environment".to_owned()],
        ..ChartLayout::new(ChartKind::Bars)
    };
    let chart = draw(run(), two);
    insta::assert_snapshot!("bars", words_and_data(&chart));
    insta::assert_snapshot!("bars.svg", chart.svg);
    assert_eq!(chart.workloads, ["network", "disk-write"]);
}

#[test]
fn lines_go_over_sizes_of_data() {
    let chart = draw(
        run_of_sizes(),
        ChartLayout { x: Some("block_size".to_owned()), ..layout(ChartKind::Lines, "network") },
    );
    insta::assert_snapshot!("lines", words_and_data(&chart));
}

#[test]
fn boxes_show_every_trial_and_mark_some() {
    let mut run = run();
    change_lines(&mut run, |lines| {
        let of_network = lines.iter_mut().filter(|one| one.workload == "network");
        for (number, line) in of_network.enumerate().take(8) {
            if number == 2 {
                line.noise = Some(Box::new(Noise { suspicious: vec![Suspicion::Steal], ..Noise::default() }));
            }
            if number == 5 {
                line.measurements.iter_mut().for_each(|one| one.value /= 8.0);
            }
        }
    });
    insta::assert_snapshot!("box", words_and_data(&draw(run, layout(ChartKind::Box, "network"))));
}

#[test]
fn distributions_are_curves_and_two_levels() {
    let cells = Some(vec!["network/lattepanda-a/native/server=native".to_owned()]);
    for (name, kind) in [("ecdf", ChartKind::Ecdf), ("histogram", ChartKind::Histogram)] {
        let one = ChartLayout { cells: cells.clone(), ..layout(kind, "network") };
        insta::assert_snapshot!(name, words_and_data(&draw(run_with_details(), one)));
    }
    let of_trials = draw(run(), ChartLayout { cells, ..layout(ChartKind::Ecdf, "network") });
    insta::assert_snapshot!("ecdf-of-trials", words_and_data(&of_trials));
}

#[test]
fn a_grid_has_a_column_and_a_row_a_number() {
    let chart = draw(
        run_of_sizes(),
        ChartLayout { unit: Some("Mbit/s".to_owned()), ..layout(ChartKind::Heatmap, "network") },
    );
    insta::assert_snapshot!("heatmap", words_and_data(&chart));
}

#[test]
fn a_line_a_trial_goes_over_time() {
    insta::assert_snapshot!(
        "series",
        words_and_data(&draw(run_with_details(), layout(ChartKind::Series, "network")))
    );
}

#[test]
fn without_a_word_in_the_file_few_charts_fit_the_records() {
    let names = |run: &Run| drawn(run).into_iter().map(|chart| chart.name).collect::<Vec<_>>();
    assert_eq!(names(&run()), ["network-throughput-sent", "disk-write-throughput"]);
    assert_eq!(
        names(&run_with_details()),
        [
            "network-throughput-sent",
            "network-latency-distribution",
            "network-throughput-over-time",
            "disk-write-throughput"
        ]
    );
    let mut nothing = run();
    nothing.records.clear();
    assert!(names(&nothing).is_empty());
}

#[test]
fn what_was_asked_for_and_is_not_there_is_said() {
    for kind in KINDS {
        let chart = draw(run(), ChartLayout { y: Some("no-such".to_owned()), ..layout(kind, "network") });
        assert!(words(&chart.svg).contains("Nothing to draw: no trial has `no-such`."), "{}", chart.svg);
    }
    let mut narrowed = run();
    narrowed.manifest.charts = vec![layout(ChartKind::Bars, "left-out"), layout(ChartKind::Bars, "network")];
    assert_eq!(drawn(&narrowed).len(), 1, "what is not measured at all has no chart");
}

#[test]
fn the_same_records_give_the_same_bytes() {
    for kind in KINDS {
        let one = draw(run_with_details(), layout(kind, "network"));
        let mut two = run_with_details();
        two.manifest.charts = vec![layout(ChartKind::Box, "disk-write"), layout(kind, "network")];
        assert_eq!(drawn(&two)[1], one, "{kind:?}");
    }
}

#[test]
fn pictures_stand_beside_each_other_in_one_page() {
    let mut run = run_with_details();
    run.manifest.charts = KINDS.into_iter().map(|kind| layout(kind, "network")).collect();
    let all = drawn(&run);
    let page = all.iter().map(|chart| chart.svg.as_str()).collect::<String>();
    let page = format!("<div>{page}</div>");
    let document = Document::parse(&page).unwrap();
    let mut ids: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    assert_eq!(ids.len(), all.len());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
    for chart in &all {
        assert!(chart.svg.starts_with("<svg ") && chart.svg.contains("prefers-color-scheme:dark"));
        let style = chart.svg.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        let rules = style.replace("@media (prefers-color-scheme:dark){", "").replace("}}", "}");
        let is_own = |rule: &str| rule.is_empty() || rule.starts_with(&format!("#chart-{}", chart.name));
        assert!(rules.split('}').all(is_own), "a rule reaches beyond its picture: {rules}");
    }
}

#[test]
fn charts_that_are_no_longer_made_go_and_what_others_made_stays() {
    let results = tempfile::tempdir().unwrap();
    let folder = results.path().join("run");
    fs::create_dir_all(&folder).unwrap();
    let fixture = run();
    for file in ["manifest.json", "records.jsonl"] {
        fs::copy(fixture.directory.path().join(file), folder.join(file)).unwrap();
    }
    let list = || {
        let mut names: Vec<_> = fs::read_dir(folder.join("charts"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    write(&folder).unwrap();
    assert_eq!(
        list(),
        [
            "disk-write-throughput.csv",
            "disk-write-throughput.svg",
            "network-throughput-sent.csv",
            "network-throughput-sent.svg"
        ]
    );
    for (name, text) in [("mine.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), ("mine.csv", "a,b\n")] {
        fs::write(folder.join("charts").join(name), text).unwrap();
    }
    let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let asked = manifest.replacen('{', r#"{ "charts": [{ "kind": "box", "title": "All" }],"#, 1);
    fs::write(folder.join("manifest.json"), asked).unwrap();
    let markdown = fs::read_to_string(&write(&folder).unwrap().files[0]).unwrap();
    assert_eq!(list(), ["all.csv", "all.svg", "mine.csv", "mine.svg"]);
    assert!(markdown.contains("![All](charts/all.svg)"), "{markdown}");
}

#[test]
fn a_title_can_not_break_the_report() {
    let mut run = run();
    let title = "a ](x) <b> | `c` [d".to_owned();
    run.manifest.charts = vec![ChartLayout { title: Some(title), ..layout(ChartKind::Bars, "network") }];
    let markdown = render(&run).unwrap().markdown;
    assert!(markdown.contains("![a )(x) &lt;b> \\| `c` (d](charts/a-x-b-c-d.svg)"), "{markdown}");
}

/// The fixture with other values and texts, and details of them.
fn any_run() -> impl Strategy<Value = Run> {
    let value = prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
        -1e3..1e3,
        Just(0.0),
        Just(5e-324),
        Just(f64::MAX),
        Just(f64::MIN)
    ];
    let status = prop_oneof![3 => Just(Status::Ok), 1 => Just(Status::Failed)];
    let text = "[ -~\u{0}-\u{1f}가힣&<>\"'\u{ffff}]{0,12}|[0-9]{1,4}[kM]?";
    let one = (status, value, text, 0..3_usize);
    (prop::collection::vec(one, 0..45), text).prop_map(|(all, name)| {
        let mut run = run();
        run.records.truncate(all.len());
        change_lines(&mut run, |lines| {
            for (line, (status, value, text, count)) in lines.iter_mut().zip(all) {
                line.status = status;
                line.measurements.iter_mut().for_each(|one| one.value = value);
                let labels = [("size".to_owned(), text)].into();
                let more = line.measurements.first().map(|one| Measurement { labels, ..one.clone() });
                line.measurements.extend(more.into_iter().cycle().take(count));
                let low = value.abs().clamp(1e-200, 1e200);
                let buckets = vec![Bucket { low, high: low * (1.0 + count as f64), count: 1 + count as u64 }];
                if let Ok(histogram) = Histogram::new(buckets) {
                    let (name, unit) = ("latency".to_owned(), "s".to_owned().into());
                    line.details.histograms.push(Distribution {
                        name,
                        unit,
                        labels: Default::default(),
                        histogram,
                    });
                }
                let (name, unit) = ("rate".to_owned(), "byte/s".to_owned().into());
                line.details.series.push(Series { name, unit, points: vec![(low, value); count] });
            }
        });
        for cell in &mut run.manifest.cells {
            cell.host = format!("{}{name}", cell.host);
            cell.parameters.values_mut().for_each(|value| value.clone_from(&name));
        }
        run
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_picture_is_whole(mut run in any_run(), log in prop::sample::select(&LOGS[..])) {
        let asked = KINDS.into_iter().map(|kind| ChartLayout { log, ..ChartLayout::new(kind) });
        let by_label = KINDS.into_iter().map(|kind| ChartLayout {
            x: Some("label.size".to_owned()),
            log,
            ..layout(kind, "network")
        });
        let of_run = drawn(&run);
        run.manifest.charts = asked.chain(by_label).collect();
        for chart in drawn(&run).into_iter().chain(of_run) {
            let document = Document::parse(&chart.svg);
            prop_assert!(document.is_ok(), "{:?}\n{}", document.err(), chart.svg);
            let document = document.unwrap();
            for node in document.descendants() {
                for attribute in node.attributes().filter(|one| one.name() != "aria-label") {
                    let value = attribute.value();
                    prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
                }
            }
            let mut reader = csv::Reader::from_reader(chart.csv.as_bytes());
            prop_assert!(reader.records().all(|row| row.is_ok()), "every row has every column");
        }
    }
}
