#!/bin/sh
# rust.sh -- a plugin in Rust, made by whatever rustc there is: begun, built, signed,
# called, run, killed and resumed as tests/system/test_newcomer.c does in C; and one
# whose requests nobody answers, which is tried again as the graph says.
set -eu
. "$HERE/lib.sh"

# What an ask came to has the class that its status has in C, and the plugin can look
# at it.  Port 1 of this machine has nobody who listens; port 2 is not allowed.
asks() {
    "$MORTISE" plugin new acme.asks --lang rust --out "$WORK/asks" >"$WORK/new.out"
    cd "$WORK/asks"
    cat >acme.asks.rs <<'EOF'
#[macro_use]
mod mortise;
mod mortise_json;

use mortise::{status, Call, Error, Plugin};
use mortise_json::Json;

struct Asks;

impl Plugin for Asks {
    fn create(_: &Json) -> Result<Self, Error> {
        Ok(Asks)
    }
    fn execute(&self, call: &Call) -> Result<Json, Error> {
        let url = call.args().get("url").text();
        let body = Json::object(&[("url", url.into())]);
        let answer = call.ask("http.request/1", &body);
        if let (Err(e), "look") = (&answer, call.operation()) {
            assert!(e.status() == status::IO && !e.words().is_empty());
            let said = format!("{} {}", e.class(), e.code());
            return Ok(Json::object(&[("said", said.into())]));
        }
        answer
    }
}

mortise_module!(Asks, "acme.asks", "0.1.0");
EOF
    cat >acme.asks.plugin.yaml <<'EOF'
apiVersion: mortise/v1
kind: Plugin
metadata: {name: acme.asks, version: 0.1.0}
seq: 1
abi: {major: 1, minor: 0}
runtime: rust
provides:
  executor:
    threading: blocking
    operations: {get: {effect: read}, look: {effect: read}}
requires: {host: ">=0.1 <2", methods: [http.request/1]}
permissions: {net: ["127.0.0.1:1"]}
EOF
    sed -i '/config:/,$d' dev.yaml
    make RUSTFLAGS='-O -D warnings' all
    MORTISE_DEPLOYMENT=$PWD/dev.yaml
    export MORTISE_DEPLOYMENT
    WORK=$PWD
    again='retry_policy: {max_attempts: 3, backoff: fixed, delay: 10ms}'
    run refused "tool: acme.asks/get, args: {url: 'http://127.0.0.1:1/'}, $again"
    says refused '"status":"failed"' '"code":"http.unreachable"' '"attempts":3'
    run denied "tool: acme.asks/get, args: {url: 'http://127.0.0.1:2/'}, $again"
    says denied '"status":"failed"' '"code":"http.denied"' '"attempts":1'
    run looked "tool: acme.asks/look, args: {url: 'http://127.0.0.1:1/'}"
    says looked '"status":"completed"' '"said":"transienthttp.unreachable"'
}

cd "$HERE/../.."
(asks)
NEWCOMER=rust MORTISE_BUILD=$TESTS "$TESTS/tests/test_newcomer" ||
    fail "test_newcomer"
echo "$(rustc --version): built, signed, killed and resumed"
