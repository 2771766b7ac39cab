//! A headless Chromium at the end of a socket: just enough of the DevTools
//! protocol to open a page, hear what goes wrong in it, and use it.

use fathomp_requirements::{Tool, left_out};
use libtest_mimic::{Completion, Trial};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// No page takes longer unless something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// A browser with a profile of its own, killed when dropped.
pub(crate) struct Browser {
    process: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    next: u64,
    /// What the page complained about.
    pub(crate) complaints: Vec<String>,
    /// Addresses it asked for.
    pub(crate) requests: Vec<String>,
    /// The loads that have ended: also those of pages that were left.
    loaded: Vec<String>,
    deadline: Instant,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The browser's program, if one is installed.
pub(crate) fn installed() -> Option<&'static str> {
    NAMES.into_iter().find(|name| {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|one| one.join(name).is_file()))
    })
}

impl Browser {
    /// Starts `program` and opens an empty page of that size.
    pub(crate) fn start(program: &str, width: u32, height: u32) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut process = Command::new(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-extensions",
                "--disable-background-networking",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().ok_or("no stderr")?;
        let (tell, address) = mpsc::channel();
        // The thread ends with the browser, whose stderr it drains.
        std::thread::spawn(move || {
            for line in BufReader::new(stderr)
                .lines()
                .map_while(std::result::Result::ok)
            {
                if let Some(address) = line.strip_prefix("DevTools listening on ") {
                    // Nobody may be listening any more.
                    let _ = tell.send(address.to_owned());
                }
            }
        });
        let address = match address.recv_timeout(PATIENCE) {
            Ok(address) => address,
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                return Err(format!("{program} did not start: {error}").into());
            }
        };
        let (socket, _) = tungstenite::connect(&address)?;
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE))?;
        }
        let mut browser = Self {
            process,
            socket,
            session: String::new(),
            next: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            loaded: Vec::new(),
            deadline: Instant::now() + PATIENCE,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        )?;
        browser.session = attached["sessionId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        browser.call("Page.setLifecycleEventsEnabled", json!({"enabled": true}))?;
        browser.size(width, height)?;
        Ok(browser)
    }

    /// Gives the page another size.
    pub(crate) fn size(&mut self, width: u32, height: u32) -> Result<()> {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        Ok(())
    }

    /// Prefers `dark` or `light`.
    pub(crate) fn colours(&mut self, scheme: &str) -> Result<()> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features)?;
        Ok(())
    }

    /// Opens a file and waits until it is loaded.
    pub(crate) fn open(&mut self, path: &Path) -> Result<()> {
        self.deadline = Instant::now() + PATIENCE;
        self.requests.clear();
        self.complaints.clear();
        let url = format!("file://{}", path.display());
        let load = self.call("Page.navigate", json!({"url": url}))?["loaderId"].clone();
        while !self.loaded.iter().any(|ended| load == *ended) {
            self.hear()?;
        }
        Ok(())
    }

    /// The value of an expression in the page; an exception is an error.
    pub(crate) fn value(&mut self, expression: &str) -> Result<Value> {
        let answer = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        )?;
        if let Some(exception) = answer.get("exceptionDetails") {
            return Err(format!("{expression}: {exception}").into());
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Presses and releases a key with its code and text.
    pub(crate) fn press(&mut self, key: &str, code: u32, text: &str) -> Result<()> {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "windowsVirtualKeyCode": code,
                "text": if kind == "keyDown" { text } else { "" },
            });
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Moves the mouse to a place, pressing from `from` if given.
    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) -> Result<()> {
        let steps = [
            ("mouseMoved", from, 0),
            ("mousePressed", from, 1),
            ("mouseMoved", to, 1),
            ("mouseReleased", to, 0),
        ];
        for (kind, (x, y), buttons) in steps {
            let event = json!({
                "type": kind, "x": x, "y": y, "button": "left",
                "buttons": buttons, "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// The page as it would be printed, as PDF in base64.
    pub(crate) fn print(&mut self) -> Result<String> {
        let answer = self.call("Page.printToPDF", json!({"printBackground": true}))?;
        Ok(answer["data"].as_str().unwrap_or_default().to_owned())
    }

    fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.next += 1;
        let number = self.next;
        let mut message = json!({"id": number, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.socket.send(Message::text(message.to_string()))?;
        loop {
            let answer = self.hear()?;
            if answer["id"] == number {
                if let Some(error) = answer.get("error") {
                    return Err(format!("{method}: {error}").into());
                }
                return Ok(answer["result"].clone());
            }
        }
    }

    fn hear(&mut self) -> Result<Value> {
        loop {
            if Instant::now() > self.deadline {
                return Err("the browser does not answer in time".into());
            }
            let message = self.socket.read()?;
            let Ok(text) = message.to_text() else {
                continue;
            };
            if text.is_empty() {
                continue;
            }
            let value: Value = serde_json::from_str(text)?;
            self.note(&value);
            return Ok(value);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Page.lifecycleEvent" if parameters["name"] == "load" => {
                let load = parameters["loaderId"].as_str().unwrap_or_default();
                self.loaded.push(load.to_owned());
            }
            "Runtime.exceptionThrown" => {
                self.complaints
                    .push(parameters["exceptionDetails"].to_string());
            }
            "Runtime.consoleAPICalled"
                if matches!(
                    parameters["type"].as_str(),
                    Some("error" | "warning" | "assert")
                ) =>
            {
                self.complaints.push(parameters["args"].to_string());
            }
            "Log.entryAdded"
                if matches!(
                    parameters["entry"]["level"].as_str(),
                    Some("error" | "warning")
                ) =>
            {
                self.complaints.push(parameters["entry"].to_string());
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            _ => {}
        }
    }
}

/// What a check in the browser comes to.
pub(crate) type Outcome = Result<()>;
/// A check in the browser.
pub(crate) type Check = fn() -> Outcome;

/// Runs checks by name; without a browser they are ignored.
pub(crate) fn run(checks: Vec<(&'static str, Check)>) -> ExitCode {
    let trial = |(name, check): (&str, Check)| {
        Trial::ignorable_test(name, move || {
            if installed().is_none() {
                let chromium = Tool {
                    commands: &NAMES,
                    package: "chromium",
                };
                return left_out(chromium.reason());
            }
            check().map_err(|error| error.to_string())?;
            Ok(Completion::Completed)
        })
    };
    fathomp_requirements::run(checks.into_iter().map(trial).collect())
}

/// The browser, with a page of that width.
pub(crate) fn browser(width: u32) -> Result<Browser> {
    let program = installed().ok_or("no Chromium is installed")?;
    Browser::start(program, width, 1000)
}

/// The page asked for itself and complained about nothing.
pub(crate) fn assert_quiet(browser: &Browser) {
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
    let foreign: Vec<&String> = browser
        .requests
        .iter()
        .filter(|url| !url.starts_with("file://") && !url.starts_with("data:"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
    assert_eq!(
        browser
            .requests
            .iter()
            .filter(|url| url.starts_with("file://"))
            .count(),
        1,
        "{:#?}",
        browser.requests
    );
}

/// A page is quiet, and no wider than the window, in windows of several widths and colours.
/// `index` is its number among the pages that are tried.
pub(crate) fn assert_fits_windows(browser: &mut Browser, page: &Path, index: usize) -> Outcome {
    for (width, scheme) in [(1400, "light"), (700, "dark"), (360, "light")] {
        browser.size(width, 900)?;
        browser.colours(scheme)?;
        browser.open(page)?;
        assert_quiet(browser);
        let overflow = browser.value("document.documentElement.scrollWidth - innerWidth")?;
        assert!(
            overflow.as_i64() <= Some(0),
            "page {index} is {overflow} px wider than {width} px"
        );
    }
    Ok(())
}
