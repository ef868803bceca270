//! Reads files: of limited size, as UTF-8.

use crate::diagnostic::Diagnostic;
use std::io::Read;
use std::path::Path;

/// Reads the text of a scenario file; the diagnostic gives the reason of a failure and the remedy.
pub fn read(path: &Path) -> Result<String, Diagnostic> {
    let file = path.display().to_string();
    let fail = |problem: String, expected: &str| Diagnostic::of_file(&file, problem, expected);
    if path.is_dir() {
        return Err(fail("is a directory".into(), "expected a scenario file, such as fig09.toml"));
    }
    let bytes = bytes(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => fail("no such file".into(), "expected the path of a scenario file"),
        _ => fail(format!("cannot be read: {e}"), "expected a readable scenario file"),
    })?;
    text(bytes).map_err(|line| Diagnostic {
        line,
        ..fail("is not UTF-8 text".into(), "expected a TOML file; save it as UTF-8")
    })
}

/// Most bytes that a file may have: more is no scenario and no flow list, but perhaps a device without end.
const LARGEST_FILE: u64 = 1 << 28;

pub(crate) fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(std::io::Error::other(format!("it has more than {LARGEST_FILE} bytes")));
    }
    Ok(bytes)
}

/// `bytes` as text, else the line that is not UTF-8.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, u32> {
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        before.iter().filter(|b| **b == b'\n').count() as u32 + 1
    })
}
