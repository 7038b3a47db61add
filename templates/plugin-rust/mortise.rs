//! mortise.rs -- executor plugins for Mortise in safe Rust, with only std.
//!
//! This file is the part of <mortise/plugin.h>, version 1, that a `blocking` executor
//! needs.  A plugin is a type with the trait `Plugin`; `mortise_module!` defines the one
//! symbol that it exports.  All unsafe code is in this file.  It is sound for these
//! reasons:
//!
//!   - The host lends its data until a function returns: a `Call` borrows the data and
//!     cannot be kept.
//!   - The host calls an instance from several threads at once: `Plugin` is Sync.
//!   - No panic crosses the ABI.  A panic in execute() becomes an error that leaves open
//!     what was done, so the host asks reconcile() if the operation has an effect.
//!
//! You may change this file.  It is all of Mortise that a plugin needs to be built.
#![allow(dead_code)]

use crate::mortise_json::Json;
use std::ffi::{c_void, CStr};
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::{ptr, slice, str};

// ---- plugins ------------------------------------------------------------------

/// An executor.  Threads: up to the manifest's `concurrency` calls of `execute` and
/// `reconcile` run at once, each on a thread of its own.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// Make an instance; the config is valid for the manifest's config_schema.
    fn create(config: &Json) -> Result<Self, Error>;
    /// Do the work.  An error means that there was no effect, unless it is a doubt.
    fn execute(&self, call: &Call) -> Result<Json, Error>;
    /// Report whether the call with these arguments and this key happened, and its
    /// result.  For operations with `reconcile: true` in the manifest.
    fn reconcile(&self, _call: &Call) -> Result<Option<Json>, Error> {
        Err(Error::unsupported())
    }
}

/// The statuses of <mortise/plugin.h> that an error may have.
pub mod status {
    pub const SUSPENDED: i32 = 2; // the answer comes later: return this status, with `?`
    pub const FAILED: i32 = -1;
    pub const INVALID: i32 = -2;
    pub const CANCELLED: i32 = -3;
    pub const DENIED: i32 = -4;
    pub const NOTFOUND: i32 = -5;
    pub const NOMEM: i32 = -6;
    pub const IO: i32 = -7; // another try may help
    pub const UNSUPPORTED: i32 = -8;
    pub const TIMEOUT: i32 = -10;
    pub const DOUBT: i32 = -11; // the effect may or may not have happened
}

/// The class of an error for the status of an ask, and the end of its code, which
/// follows the area of the method.  Equal to mortise_http_detail() of <mortise/ask.h>.
/// Any other status is ("permanent", "failed").
const MEANINGS: [(i32, &str, &str); 7] = [
    (status::IO, "transient", "unreachable"),
    (status::TIMEOUT, "timeout", "timeout"),
    (status::CANCELLED, "cancelled", "cancelled"),
    (status::DENIED, "permanent", "denied"),
    (status::INVALID, "permanent", "invalid"),
    (status::NOMEM, "transient", "failed"),
    (status::NOTFOUND, "permanent", "not_found"),
];

/// Why a call failed.  The class decides about retries; a graph may name the code.
#[derive(Debug)]
pub struct Error {
    status: i32,
    class: &'static str,
    code: String,
    words: String,
    retry_after_ms: i64,
}

impl Error {
    fn new(status: i32, class: &'static str, code: &str, words: &str) -> Error {
        let (code, words) = (code.to_string(), words.to_string());
        Error {
            status,
            class,
            code,
            words,
            retry_after_ms: 0,
        }
    }
    /// The error of an ask of `method`: "http.unreachable" and so on.
    fn asked(method: &str, status: i32, words: &str) -> Error {
        let area = method.split('.').next().unwrap_or("ask");
        let row = MEANINGS.iter().find(|m| m.0 == status);
        let (class, end) = row.map_or(("permanent", "failed"), |m| (m.1, m.2));
        Error::new(status, class, &format!("{}.{}", area, end), words)
    }
    /// One of the constants in `status`.
    pub fn status(&self) -> i32 {
        self.status
    }
    /// "transient", "permanent", "timeout" or "cancelled"; "" if the call is suspended.
    pub fn class(&self) -> &str {
        self.class
    }
    pub fn code(&self) -> &str {
        &self.code
    }
    pub fn words(&self) -> &str {
        &self.words
    }
    /// A permanent error: another try does not help.
    pub fn failed(code: &str, words: &str) -> Error {
        Error::new(status::FAILED, "permanent", code, words)
    }
    /// The request breaks its rules.
    pub fn invalid(code: &str, words: &str) -> Error {
        Error::new(status::INVALID, "permanent", code, words)
    }
    /// A transient error: another try may help, after that many ms (0: at any time).
    pub fn transient(code: &str, words: &str, retry_after_ms: i64) -> Error {
        Error {
            retry_after_ms,
            ..Error::new(status::FAILED, "transient", code, words)
        }
    }
    /// The effect may or may not have happened.
    pub fn doubt(code: &str, words: &str) -> Error {
        Error::new(status::DOUBT, "permanent", code, words)
    }
    /// There is no such operation.
    pub fn unsupported() -> Error {
        Error::new(
            status::UNSUPPORTED,
            "permanent",
            "unsupported",
            "no such operation",
        )
    }
    /// The call stopped because the host cancelled it.
    pub fn cancelled() -> Error {
        Error::new(status::CANCELLED, "cancelled", "cancelled", "told to stop")
    }
    fn detail(&self) -> String {
        let mut members = vec![
            ("class", self.class.into()),
            ("code", self.code.as_str().into()),
        ];
        if self.retry_after_ms > 0 {
            members.push(("retry_after_ms", Json::Int(self.retry_after_ms)));
        }
        Json::object(&members).to_string()
    }
}

/// A call, until it returns.
pub struct Call<'a> {
    host: Host,
    request: &'a Request,
    args: Json,
}

impl<'a> Call<'a> {
    /// The name of the operation in the manifest.
    pub fn operation(&self) -> &str {
        unsafe { self.request.operation.lent() }
    }
    /// The arguments; they fit the manifest's input_schema.
    pub fn args(&self) -> &Json {
        &self.args
    }
    /// The same on every attempt of this call, and different for every other call; "": none.
    pub fn key(&self) -> &str {
        unsafe { self.request.idempotency_key.lent() }
    }
    /// The number of the attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.request.attempt
    }
    /// Return whether to stop.  Ask often; each use is also a sign of life.
    pub fn cancelled(&self) -> bool {
        unsafe { ((*self.host.api).cancelled)(self.host.host, self.request.call) != 0 }
    }
    /// Write to the engine's log: 1 error, 2 warning, 3 info, 4 debug.
    pub fn log(&self, level: i32, words: &str) {
        unsafe { ((*self.host.api).log)(self.host.host, level, Str::of(words)) }
    }
    /// Ask the host and wait for the answer: "http.request/1" and so on.  The manifest's
    /// requires.methods must list the method; <mortise/ask.h> describes its body and
    /// answer.  Pass errors on with `?`: that suspends a call that waits for a person,
    /// and keeps the class, which decides about retries.
    pub fn ask(&self, method: &str, body: &Json) -> Result<Json, Error> {
        let (body, mut answer) = (body.to_string(), Str::of(""));
        let (host, call, body) = (self.host, self.request.call, Str::of(&body));
        let ask = unsafe { (*host.api).ask_wait };
        let status = ask(host.host, call, Str::of(method), body, &mut answer);
        let text = unsafe { answer.lent() };
        match status {
            0 => Json::parse(text),
            status::SUSPENDED => Err(Error::new(status, "", "", "")),
            _ => Err(Error::asked(method, status, text)),
        }
    }
    fn emit(&self, output: &Json) -> i32 {
        let text = output.to_string();
        let (kind, text) = (Str::of("output"), Str::of(&text));
        unsafe { ((*self.host.api).emit)(self.host.host, self.request.call, kind, text) }
    }
}

// ---- the ABI: the layout is the contract -----------------------------------------

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    p: *const u8,
    n: u64,
}

impl Str {
    fn of(s: &str) -> Str {
        Str {
            p: s.as_ptr(),
            n: s.len() as u64,
        }
    }
    /// Sound while the host lends the bytes; "" if they are not UTF-8.
    unsafe fn lent<'a>(self) -> &'a str {
        if self.p.is_null() {
            return "";
        }
        str::from_utf8(slice::from_raw_parts(self.p, self.n as usize)).unwrap_or("")
    }
}

type Answer = extern "C" fn(*mut c_void, i32, Str);

#[repr(C)]
pub struct HostApi {
    size: u32,
    abi: [u16; 2],
    log: extern "C" fn(*mut c_void, i32, Str),
    emit: extern "C" fn(*mut c_void, u64, Str, Str) -> i32,
    finish: extern "C" fn(*mut c_void, u64, i32, Str, Str) -> i32,
    fail: extern "C" fn(*mut c_void, u64, Str, Str),
    cancelled: extern "C" fn(*mut c_void, u64) -> i32,
    now_ns: extern "C" fn(*mut c_void) -> u64,
    ask: extern "C" fn(*mut c_void, u64, Str, Str, Answer, *mut c_void) -> i32,
    ask_wait: extern "C" fn(*mut c_void, u64, Str, Str, *mut Str) -> i32,
}

/// The host, as one instance sees it: valid until destroy(), on any thread.
#[derive(Clone, Copy)]
struct Host {
    host: *mut c_void,
    api: *const HostApi,
}

impl Host {
    fn fail(self, call: u64, e: &Error) -> i32 {
        let detail = e.detail();
        if e.status < 0 {
            let (words, detail) = (Str::of(&e.words), Str::of(&detail));
            unsafe { ((*self.api).fail)(self.host, call, words, detail) };
        }
        e.status
    }
}

#[repr(C)]
pub struct Request {
    size: u32,
    flags: u32,
    call: u64,
    deadline_ns: u64,
    attempt: u32,
    visit: u32,
    operation: Str,
    body: Str,
    run_id: Str,
    node_path: Str,
    idempotency_key: Str,
    trace_parent: Str,
}

struct Instance<P> {
    host: Host,
    plugin: P,
}

/// Run a function for the host; a panic becomes an error.
fn guarded(host: Host, call: u64, body: impl FnOnce() -> Result<i32, Error>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(e)) => host.fail(call, &e),
        Err(_) => host.fail(call, &Error::doubt("panic", "the plugin panicked")),
    }
}

/// One call of an instance.
unsafe fn enter<P: Plugin>(
    instance: *mut c_void,
    request: *const Request,
    run: impl FnOnce(&P, &Call) -> Result<Json, Error>,
) -> i32 {
    let (i, request) = (&*(instance as *const Instance<P>), &*request);
    guarded(i.host, request.call, || {
        let args = Json::parse(request.body.lent())?;
        let call = Call {
            host: i.host,
            request,
            args,
        };
        let output = run(&i.plugin, &call)?;
        match call.emit(&output) {
            0 => Ok(0),
            _ => Err(Error::doubt("output", "the host does not take the output")),
        }
    })
}

unsafe extern "C" fn execute<P: Plugin>(i: *mut c_void, r: *const Request) -> i32 {
    enter(i, r, |plugin: &P, call| plugin.execute(call))
}

unsafe extern "C" fn reconcile<P: Plugin>(i: *mut c_void, r: *const Request) -> i32 {
    enter(i, r, |plugin: &P, call| {
        Ok(match plugin.reconcile(call)? {
            Some(result) => Json::object(&[("happened", Json::Bool(true)), ("result", result)]),
            None => Json::object(&[("happened", Json::Bool(false))]),
        })
    })
}

unsafe extern "C" fn create<P: Plugin>(
    host: *mut c_void,
    api: *const HostApi,
    config: Str,
    out: *mut *mut c_void,
) -> i32 {
    let host = Host { host, api };
    guarded(host, 0, || {
        let plugin = P::create(&Json::parse(config.lent())?)?;
        *out = Box::into_raw(Box::new(Instance { host, plugin })) as *mut c_void;
        Ok(0)
    })
}

unsafe extern "C" fn destroy<P: Plugin>(i: *mut c_void) {
    let dropped = || drop(Box::from_raw(i as *mut Instance<P>));
    let _ = catch_unwind(AssertUnwindSafe(dropped));
}

unsafe extern "C" fn get_interface<P: Plugin>(_: *mut c_void, id: *const c_char) -> *const c_void {
    match CStr::from_ptr(id).to_bytes() {
        b"mortise.executor/1" => &Tables::<P>::EXECUTOR as *const Executor as *const c_void,
        _ => ptr::null(),
    }
}

type Enter = unsafe extern "C" fn(*mut c_void, *const Request) -> i32;

#[repr(C)]
struct Executor {
    size: u32,
    flags: u32,
    execute: Enter,
    reconcile: Enter,
    background: Option<Enter>,
}

#[repr(C)]
pub struct Table {
    size: u32,
    flags: u32,
    id: *const u8,
    version: *const u8,
    create: unsafe extern "C" fn(*mut c_void, *const HostApi, Str, *mut *mut c_void) -> i32,
    get_interface: unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
    cancel: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    quiesce: Option<unsafe extern "C" fn(*mut c_void, u64) -> i32>,
    destroy: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
pub struct Module {
    size: u32,
    abi: [u16; 2],
    flags: u32,
    plugin_count: u32,
    plugins: *const &'static Table,
    init: Option<extern "C" fn() -> i32>,
    fini: Option<extern "C" fn()>,
}

/// Constant data; nothing writes it.
unsafe impl Sync for Table {}
unsafe impl Sync for Module {}

struct Tables<P>(PhantomData<P>);

impl<P: Plugin> Tables<P> {
    const EXECUTOR: Executor = Executor {
        size: 32,
        flags: 0,
        execute: execute::<P>,
        reconcile: reconcile::<P>,
        background: None,
    };
}

impl Table {
    /// Both texts are NUL-terminated.
    pub const fn of<P: Plugin>(id: &'static str, version: &'static str) -> Table {
        Table {
            size: 64,
            flags: 0,
            id: id.as_ptr(),
            version: version.as_ptr(),
            create: create::<P>,
            get_interface: get_interface::<P>,
            cancel: None,
            quiesce: None,
            destroy: destroy::<P>,
        }
    }
}

impl Module {
    pub const fn of(plugins: &'static [&'static Table; 1]) -> Module {
        Module {
            size: 40,
            abi: [1, 0],
            flags: 0,
            plugin_count: 1,
            plugins: plugins.as_ptr(),
            init: None,
            fini: None,
        }
    }
}

/// mortise_module!(Type, "NAME", "VERSION"), as the manifest has them.
macro_rules! mortise_module {
    ($plugin:ty, $id:expr, $version:expr) => {
        static MORTISE_TABLE: mortise::Table =
            mortise::Table::of::<$plugin>(concat!($id, "\0"), concat!($version, "\0"));
        static MORTISE_TABLES: [&mortise::Table; 1] = [&MORTISE_TABLE];
        #[no_mangle]
        #[allow(non_upper_case_globals)]
        pub static mortise_module_v1: mortise::Module = mortise::Module::of(&MORTISE_TABLES);
    };
}
