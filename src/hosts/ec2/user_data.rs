//! What an instance is told at its launch: to shut itself down in time, whatever has become of `runner`, and the
//! user's own script. cloud-init takes both as parts of one text. Read [`wrapped`] first.

use std::time::Duration;

use crate::spec::host::user_data_type;
use crate::transports::base64;

/// Bytes in a line of base64, as mail has them.
const LINE: usize = 76;

/// Lines of `sh`, for root, that start the timer, once in each boot. A process that sleeps needs nothing of the
/// system, also early in its start, and disturbs nothing.
pub(super) fn timer(time: Duration) -> String {
    format!(
        r#"if mkdir /run/runner-ttl 2>/dev/null; then
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
unset RUNNER_PLACE
setsid sh -c 'sleep {}; poweroff || shutdown -h now || halt -p' </dev/null >/dev/null 2>&1 &
fi"#,
        time.as_secs().max(1)
    )
}

/// The timer and the user's own data, as one text of several parts. The same arguments give the same text: a launch
/// that is asked for again is the same launch.
pub(super) fn wrapped(time: Duration, own: Option<&str>) -> String {
    // A hook runs in each boot, early, and nothing in the user's own configuration can take its place.
    let mut parts = vec![part("text/cloud-boothook", &format!("#!/bin/sh\n{}\n", timer(time)))];
    parts.extend(own.map(|own| match user_data_type(own) {
        Some(kind) if kind.starts_with("multipart/") => own.to_owned(),
        kind => part(kind.unwrap_or("text/plain"), own),
    }));
    let mut boundary = "=_runner".to_owned();
    while parts.iter().any(|part| part.contains(&boundary)) {
        boundary.push('_');
    }
    let parts: String = parts.iter().map(|part| format!("--{boundary}\n{part}\n")).collect();
    format!(
        "Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n{parts}--{boundary}--\n"
    )
}

fn part(kind: &str, text: &str) -> String {
    let (encoding, text) = match text.is_ascii() {
        true => ("7bit", text.to_owned()),
        false => ("base64", lines_of(&base64::encode(text.as_bytes()))),
    };
    let head = "MIME-Version: 1.0\nContent-Transfer-Encoding";
    format!("Content-Type: {kind}; charset=\"utf-8\"\n{head}: {encoding}\n\n{text}")
}

fn lines_of(text: &str) -> String {
    let lines: Vec<&str> =
        (0..text.len()).step_by(LINE).map(|at| &text[at..(at + LINE).min(text.len())]).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_users_own_data_comes_after_the_timer_as_what_it_is() {
        for (own, kind) in [
            ("#!/bin/sh\necho a\n", "text/x-shellscript"),
            ("#cloud-config\npackages: [fio]\n", "text/cloud-config"),
            ("#include\nhttps://198.51.100.1/a\n", "text/x-include-url"),
        ] {
            let text = wrapped(HOUR, Some(own));
            assert!(
                text.starts_with(
                    "Content-Type: multipart/mixed; boundary=\"=_runner\"\nMIME-Version: 1.0\n\n"
                )
            );
            let parts: Vec<&str> = text.split("--=_runner").collect();
            assert_eq!(parts.len(), 4, "{text}");
            assert!(parts[1].starts_with("\nContent-Type: text/cloud-boothook;"), "{text}");
            assert!(parts[1].contains("sleep 3600; poweroff"), "{text}");
            let expected = format!(
                "\nContent-Type: {kind}; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: 7bit\n\n{own}\n"
            );
            assert_eq!(parts[2], expected);
            assert_eq!(parts[3], "--\n");
        }
        assert_eq!(wrapped(HOUR, None).split("--=_runner").count(), 3);
    }

    #[test]
    fn text_that_is_not_ascii_and_text_of_parts_arrive_whole() {
        let text = wrapped(HOUR, Some("#!/bin/sh\necho größer"));
        assert!(
            text.contains("Content-Transfer-Encoding: base64\n\nIyEvYmluL3NoCmVjaG8gZ3LDtsOfZXI=\n"),
            "{text}"
        );
        let long = format!("#!/bin/sh\n# {}", "ä".repeat(100));
        assert!(wrapped(HOUR, Some(&long)).lines().all(|line| line.len() <= 120));
        let own = "Content-Type: multipart/mixed; boundary=\"=_runner\"\nMIME-Version: 1.0\n\n--=_runner--\n";
        let text = wrapped(HOUR, Some(own));
        assert!(
            text.contains("boundary=\"=_runner_\"")
                && text.contains(&format!("--=_runner_\n{own}\n--=_runner_--\n"))
        );
    }
}
