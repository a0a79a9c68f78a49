//! A headless Chromium, driven through its DevTools protocol over two pipes. It can reach no network.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

const OPTIONS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--proxy-server=127.0.0.1:9",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
];

/// A page in a browser.
pub struct Browser {
    child: Child,
    to: File,
    messages: Receiver<Value>,
    session: Option<String>,
    next: u64,
    /// What the page did: errors, messages on the console, requests.
    pub events: Vec<Value>,
    _folder: TempDir,
}

/// The program, where there is one.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

impl Browser {
    /// The page in `file`; none, and a word about it, where there is no Chromium. With `CI=true` that is a failure.
    pub fn open(file: &Path) -> Option<Self> {
        let Some(program) = program() else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "Chromium is missing: scripts/setup test");
            println!(
                "SKIPPED: Chromium is not installed, so report.html is not opened in it (scripts/setup test)"
            );
            return None;
        };
        let folder = TempDir::new().unwrap();
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        let child = Command::new("sh")
            .args(["-c", "exec 3<\"$0\" 4>\"$1\"; shift; exec \"$@\""])
            .args([&to, &from, &program])
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, from) = (File::options().write(true).open(to).unwrap(), File::open(from).unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(from).split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Browser { child, to, messages, session: None, next: 0, events: Vec::new(), _folder: folder };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.ask("Target.attachToTarget", target);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Runtime", "Log", "Network", "Page"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser.ask("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        browser.wait_for("document.readyState === 'complete' && location.protocol === 'file:'");
        Some(browser)
    }

    /// What a command of the protocol gives.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.messages.recv_timeout(PATIENCE);
            let answer = answer.unwrap_or_else(|error| panic!("Chromium does not answer {method}: {error}"));
            match answer["id"].as_u64() {
                Some(id) if id == self.next => {
                    assert!(answer["error"].is_null(), "{method}: {answer}");
                    return answer["result"].clone();
                }
                _ => self.events.push(answer),
            }
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The texts of all elements of `selector` that can be seen.
    pub fn texts(&mut self, selector: &str) -> Vec<String> {
        let expression = format!(
            "Array.from(document.querySelectorAll({selector:?})).filter(e => e.offsetParent !== null).map(e => e.innerText)"
        );
        serde_json::from_value(self.value(&expression)).unwrap()
    }

    pub fn wait_for(&mut self, condition: &str) {
        let begun = Instant::now();
        while self.value(condition) != json!(true) {
            assert!(begun.elapsed() < PATIENCE, "never: {condition}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key as a keyboard does, e.g. `Tab`, `Enter` or `Escape`.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            _ => panic!("which key is {key}?"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Types a text into what has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.ask("Input.insertText", json!({ "text": text }));
    }

    /// Clicks with the mouse on the first element of `selector`.
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// Prints or draws the page: the bytes of a PDF or PNG. With `KEEP_SCREENSHOTS=DIR` they are kept there.
    pub fn picture(&mut self, name: &str) -> Vec<u8> {
        let answer = match name.ends_with(".pdf") {
            true => self.ask("Page.printToPDF", json!({ "printBackground": true })),
            false => self.ask("Page.captureScreenshot", json!({ "format": "png" })),
        };
        let data = answer["data"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        if let Some(folder) = std::env::var_os("KEEP_SCREENSHOTS") {
            fs::create_dir_all(&folder).unwrap();
            fs::write(Path::new(&folder).join(name), &bytes).unwrap();
        }
        bytes
    }

    /// The errors, and whatever was said on the console.
    pub fn complaints(&self) -> Vec<&Value> {
        let kinds = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        self.events.iter().filter(|event| kinds.iter().any(|kind| event["method"] == *kind)).collect()
    }

    /// The addresses of everything that was asked for.
    pub fn requests(&self) -> Vec<&str> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        asked.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
