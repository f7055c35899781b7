//! A small HTTP/1.1 client. It shows heads, single chunks, and whether an answer was cut.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::DEADLINE;

/// The codes of problems that always list faults.
const ALWAYS_WITH_FAULTS: [&str; 6] = ["INVALID_STATEMENT", "INVALID_INPUT", "NO_SUCH_ROW", "REFUSED", "OUT_OF_RANGE", "CHECK_FAILED"];

/// The codes of problems that list faults if a resource was written, and none if a record of the hub was.
const WITH_FAULTS_OF_WRITES: [&str; 2] = ["EXISTS", "IN_USE"];

#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A POST of JSON.
pub fn post(path: &str, body: impl AsRef<[u8]>) -> Request {
    Request::new("POST", path).header("content-type", "application/json").body(body)
}

pub fn get(path: &str) -> Request {
    Request::new("GET", path)
}

impl Request {
    pub fn new(method: &str, path: &str) -> Self {
        Request { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// Sets a header and replaces earlier values.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header and keeps earlier values.
    pub fn add_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        body.as_ref().clone_into(&mut self.body);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            head.push_str("host: localhost\r\n");
        }
        if self.method != "GET" {
            _ = write!(head, "content-length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }

    /// Sends the request and reads the whole answer.
    pub async fn send(&self, address: SocketAddr) -> Response {
        let mut wire = Connection::open(address).await;
        wire.send(&self.bytes()).await;
        wire.response(&self.method).await
    }

    /// Sends the request from another client address of this machine.
    pub async fn send_from(&self, source: IpAddr, address: SocketAddr) -> Response {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(source, 0)).expect("an address of this machine");
        let mut wire = Connection(BufReader::new(socket.connect(address).await.expect("the server listens")));
        wire.send(&self.bytes()).await;
        wire.response(&self.method).await
    }

    /// Sends the request; returns the answer, or `None` if it is cut or there is no server.
    pub async fn attempt(&self, address: SocketAddr) -> Option<Response> {
        let mut wire = Connection(BufReader::new(TcpStream::connect(address).await.ok()?));
        wire.send(&self.bytes()).await;
        let head = wire.head().await?;
        Some(wire.rest(head, &self.method).await).filter(|response| response.whole)
    }

    /// Sends the request without reading the answer.
    pub async fn start(&self, address: SocketAddr) -> Connection {
        let mut wire = Connection::open(address).await;
        wire.send(&self.bytes()).await;
        wire
    }
}

/// Status and headers.
#[derive(Clone, Debug)]
pub struct Head {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub struct Response {
    pub head: Head,
    pub body: Vec<u8>,
    /// The number of chunks; 0 if the answer has a content-length.
    pub chunks: usize,
    /// Whether the answer is complete.
    pub whole: bool,
}

impl Response {
    pub fn status(&self) -> u16 {
        self.head.status
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        assert!(self.whole, "the answer was cut: {}", self.text());
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.head.status, self.text()))
    }

    /// The JSON of an answer with status 200.
    pub fn good(&self) -> Value {
        assert_eq!(self.head.status, 200, "{}", self.text());
        self.json()
    }

    /// The problem document; checks its shape.
    pub fn problem(&self, status: u16) -> Value {
        assert_eq!(self.head.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        let problem = self.json();
        let code = problem["code"].as_str().expect("a code");
        assert_eq!(problem["type"], format!("urn:peristyle:problem:{}", code.to_lowercase().replace('_', "-")));
        assert_eq!(problem["status"], status);
        for key in ["title", "detail"] {
            assert!(problem[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {problem}");
        }
        let keys = problem.as_object().expect("an object").keys().filter(|key| key.as_str() != "errors").count();
        assert_eq!(keys, 5, "{problem}");
        let has_faults = problem.get("errors").is_some();
        assert_eq!(has_faults, ALWAYS_WITH_FAULTS.contains(&code) || (has_faults && WITH_FAULTS_OF_WRITES.contains(&code)), "{problem}");
        problem
    }

    /// The faults of a statement, as code and path.
    pub fn faults(&self) -> Vec<(String, String)> {
        let problem = self.problem(400);
        assert_eq!(problem["code"], "INVALID_STATEMENT");
        let errors = problem["errors"].as_array().expect("errors");
        assert!(!errors.is_empty(), "{problem}");
        errors
            .iter()
            .map(|error| {
                assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{error}");
                assert_eq!(error.as_object().map(serde_json::Map::len), Some(3), "{error}");
                (error["code"].as_str().expect("a code").to_owned(), error["path"].as_str().expect("a path").to_owned())
            })
            .collect()
    }

    /// The only fault of a statement.
    pub fn fault(&self) -> (String, String) {
        let faults = self.faults();
        assert_eq!(faults.len(), 1, "{}", self.text());
        faults[0].clone()
    }
}

/// One read from a chunked answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    Data(Vec<u8>),
    End,
    /// The connection ended before the answer did.
    Cut,
}

/// A connection.
#[derive(Debug)]
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        Connection(BufReader::new(TcpStream::connect(address).await.expect("the server listens")))
    }

    /// A connection with a small receive buffer, so that the server soon notices a client that does not read.
    pub async fn with_small_buffer(address: SocketAddr) -> Self {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        Connection(BufReader::with_capacity(1024, socket.connect(address).await.expect("the server listens")))
    }

    /// Writes; ignores errors, because a server may close the connection early.
    pub async fn send(&mut self, bytes: &[u8]) {
        _ = timed(self.0.write_all(bytes)).await;
    }

    pub async fn request(&mut self, request: &Request) {
        self.send(&request.bytes()).await;
    }

    /// Reads this many bytes; `None` if the server closed the connection.
    pub async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        timed(self.0.read_exact(&mut bytes)).await.ok().map(|_| bytes)
    }

    /// The head of the next answer; `None` if the server closed the connection.
    pub async fn head(&mut self) -> Option<Head> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no status line: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some(Head { status, headers })
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        timed(self.0.read_until(b'\n', &mut line)).await.ok()?;
        line.strip_suffix(b"\r\n").map(|line| String::from_utf8_lossy(line).into_owned())
    }

    /// The next chunk of a chunked answer.
    pub async fn chunk(&mut self) -> Chunk {
        let Some(line) = self.line().await else { return Chunk::Cut };
        let Ok(size) = usize::from_str_radix(&line, 16) else { return Chunk::Cut };
        let mut data = vec![0; size + 2];
        if timed(self.0.read_exact(&mut data)).await.is_err() {
            return Chunk::Cut;
        }
        data.truncate(size);
        if size == 0 { Chunk::End } else { Chunk::Data(data) }
    }

    /// The next answer.
    pub async fn response(&mut self, method: &str) -> Response {
        let head = self.head().await.expect("an answer");
        self.rest(head, method).await
    }

    /// The rest of an answer after its head.
    pub async fn rest(&mut self, head: Head, method: &str) -> Response {
        let (mut body, mut chunks, mut whole) = (Vec::new(), 0, true);
        if head.header("transfer-encoding") == Some("chunked") {
            loop {
                match self.chunk().await {
                    Chunk::Data(data) => {
                        chunks += 1;
                        body.extend_from_slice(&data);
                    }
                    Chunk::End => break,
                    Chunk::Cut => {
                        whole = false;
                        break;
                    }
                }
            }
        } else if method != "HEAD" {
            let length = head.header("content-length").map_or(0, |length| length.parse().expect("a length"));
            body.resize(length, 0);
            whole = timed(self.0.read_exact(&mut body)).await.is_ok();
        }
        Response { head, body, chunks, whole }
    }
}

async fn timed<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.expect("an answer within the deadline")
}
