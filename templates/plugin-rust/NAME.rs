//! @NAME@.rs -- a plugin for Mortise: a text in capitals, and a file of notes.
//!
//!   shout  {text}  ->  {text}    pure: depends only on its arguments
//!   note   {text}  ->  {line}    write: appends "KEY TEXT" to the config's file
//!
//! KEY is the idempotency key of the call, the same on every attempt.  If a call was
//! interrupted, reconcile() searches for the key to report whether the line was
//! added.
//!
//! The binding is mortise.rs, in this directory; it contains all unsafe code.

#[macro_use]
mod mortise;
mod mortise_json;

use mortise::{Call, Error, Plugin};
use mortise_json::Json;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};

struct Notes {
    file: String,
}

/// The line that this call appends.
fn line_of(call: &Call) -> Result<String, Error> {
    let text = call.args().get("text").text();
    if text.contains(|c| c == '\r' || c == '\n') {
        return Err(Error::invalid("text", "a note is one line"));
    }
    Ok(format!("{} {}", call.key(), text))
}

/// After a write, the line may be in the file: return no error that denies it.
fn doubt(e: std::io::Error) -> Error {
    Error::doubt("file", &format!("the note may be there, or not: {}", e))
}

impl Notes {
    fn shout(&self, call: &Call) -> Result<Json, Error> {
        let text = call.args().get("text").text();
        Ok(Json::object(&[("text", text.to_ascii_uppercase().into())]))
    }

    fn note(&self, call: &Call) -> Result<Json, Error> {
        let line = line_of(call)?;
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.file)
            .map_err(|e| Error::failed("file", &e.to_string()))?;
        file.write_all(format!("{}\n", line).as_bytes())
            .map_err(doubt)?;
        file.sync_all().map_err(doubt)?;
        Ok(Json::object(&[("line", line.into())]))
    }

    /// Return whether the file has this whole line.  After a power cut, a part of
    /// another line may be in front of it.
    fn has(&self, line: &str) -> std::io::Result<bool> {
        let whole = format!("{}\n", line).into_bytes();
        let mut file = match File::open(&self.file) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            opened => BufReader::new(opened?),
        };
        loop {
            let mut found = Vec::new();
            if file.read_until(b'\n', &mut found)? == 0 {
                return Ok(false);
            }
            if found.ends_with(&whole) {
                return Ok(true);
            }
        }
    }
}

impl Plugin for Notes {
    fn create(config: &Json) -> Result<Self, Error> {
        let file = config.get("file").text().to_string();
        Ok(Notes { file })
    }

    fn execute(&self, call: &Call) -> Result<Json, Error> {
        match call.operation() {
            "shout" => self.shout(call),
            "note" => self.note(call),
            _ => Err(Error::unsupported()),
        }
    }

    /// The host asks after a crash whether the call with this key happened.
    fn reconcile(&self, call: &Call) -> Result<Option<Json>, Error> {
        let line = line_of(call)?;
        match self.has(&line) {
            Ok(true) => Ok(Some(Json::object(&[("line", line.into())]))),
            Ok(false) => Ok(None),
            Err(e) => Err(Error::failed("file", &e.to_string())),
        }
    }
}

mortise_module!(Notes, "@NAME@", "0.1.0");
