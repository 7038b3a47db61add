//! mortise_json.rs -- a small JSON reader and writer for arguments, configs and outputs.
//!
//! It reads whole texts, strictly (RFC 8259, nested up to 256 deep), and writes compact
//! JSON.  You may use another library instead: the host exchanges texts.
#![allow(dead_code)]

use crate::mortise::Error;
use std::fmt::{self, Write};

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn object(members: &[(&str, Json)]) -> Json {
        Json::Object(
            members
                .iter()
                .map(|(k, v)| (k.to_string(), v.clone()))
                .collect(),
        )
    }
    /// A member; Null if it is absent.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members
                .iter()
                .find(|(k, _)| k == name)
                .map_or(&Json::Null, |(_, v)| v),
            _ => &Json::Null,
        }
    }
    /// The text; "" if it is no text.
    pub fn text(&self) -> &str {
        match self {
            Json::Text(s) => s,
            _ => "",
        }
    }
    pub fn parse(text: &str) -> Result<Json, Error> {
        let mut r = Reader {
            text,
            at: 0,
            depth: 0,
        };
        match r.value() {
            Some(v) if r.peek().is_none() => Ok(v),
            _ => Err(Error::invalid("json", "this is not JSON")),
        }
    }
}

impl From<&str> for Json {
    fn from(s: &str) -> Json {
        Json::Text(s.to_string())
    }
}
impl From<String> for Json {
    fn from(s: String) -> Json {
        Json::Text(s)
    }
}

fn quoted(f: &mut fmt::Formatter, s: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in s.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{}", c)?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Bool(b) => write!(f, "{}", b),
            Json::Int(i) => write!(f, "{}", i),
            Json::Float(d) if d.is_finite() => write!(f, "{:?}", d),
            Json::Null | Json::Float(_) => f.write_str("null"),
            Json::Text(s) => quoted(f, s),
            Json::List(list) => {
                for (i, v) in list.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { '[' } else { ',' }, v)?;
                }
                f.write_str(if list.is_empty() { "[]" } else { "]" })
            }
            Json::Object(members) => {
                for (i, (k, v)) in members.iter().enumerate() {
                    f.write_char(if i == 0 { '{' } else { ',' })?;
                    quoted(f, k)?;
                    write!(f, ":{}", v)?;
                }
                f.write_str(if members.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|b| b" \t\r\n".contains(b)).count();
        self.text.as_bytes().get(self.at).copied()
    }
    fn take(&mut self, what: &str) -> Option<()> {
        self.peek();
        self.text[self.at..]
            .starts_with(what)
            .then(|| self.at += what.len())
    }
    fn value(&mut self) -> Option<Json> {
        match self.peek()? {
            b'n' => self.take("null").map(|_| Json::Null),
            b't' => self.take("true").map(|_| Json::Bool(true)),
            b'f' => self.take("false").map(|_| Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' => self.items("[", "]", Self::value).map(Json::List),
            b'{' => self.items("{", "}", Self::member).map(Json::Object),
            _ => self.number(),
        }
    }
    fn member(&mut self) -> Option<(String, Json)> {
        self.peek()?;
        let name = self.string()?;
        self.take(":")?;
        Some((name, self.value()?))
    }
    fn items<T>(
        &mut self,
        open: &str,
        close: &str,
        one: fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut out = Vec::new();
        self.take(open)?;
        self.depth += 1;
        if self.depth > 256 {
            return None;
        }
        while self.take(close).is_none() {
            if !out.is_empty() {
                self.take(",")?;
            }
            out.push(one(self)?);
        }
        self.depth -= 1;
        Some(out)
    }
    fn number(&mut self) -> Option<Json> {
        let rest = &self.text[self.at..];
        let n = rest
            .bytes()
            .take_while(|b| b"+-.eE0123456789".contains(b))
            .count();
        self.at += n;
        match rest[..n].parse() {
            Ok(i) => Some(Json::Int(i)),
            Err(_) => rest[..n].parse().ok().map(Json::Float),
        }
    }
    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
    /// After "\u": the first half of a surrogate pair must be followed by the second.
    fn escaped(&mut self) -> Option<char> {
        let high = self.hex4()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        self.text[self.at..].strip_prefix("\\u")?;
        self.at += 2;
        let low = self.hex4()?.checked_sub(0xdc00).filter(|n| *n < 0x400)?;
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)
    }
    fn next(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }
    fn string(&mut self) -> Option<String> {
        let mut out = String::new();
        if self.next()? != '"' {
            return None;
        }
        loop {
            match self.next()? {
                '"' => return Some(out),
                '\\' => out.push(match self.next()? {
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => self.escaped()?,
                    c if "\"\\/".contains(c) => c,
                    _ => return None,
                }),
                c if c < ' ' => return None,
                c => out.push(c),
            }
        }
    }
}
