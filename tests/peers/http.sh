#!/bin/sh
# http.sh -- the http plugin against a server made by others (http.js): what
# arrives, and what is said of what does not.
set -eu
. "$HERE/lib.sh"

mkfifo "$WORK/stdin"
NODE_PATH=$PEERS/node_modules node "$HERE/http.js" <"$WORK/stdin" \
    >"$WORK/port" 2>"$WORK/server.log" &
exec 9>"$WORK/stdin" # the server ends with us
for _ in $(seq 100); do
    [ -s "$WORK/port" ] && break
    sleep 0.1
done
read -r port babble <"$WORK/port" || fail "no server: $(cat "$WORK/server.log")"
at=http://127.0.0.1:$port
deploy "$at" "http://127.0.0.1:$babble"

get() { # get NAME PATH [MORE ARGS [MORE OF THE NODE]]
    run "$1" "tool: http/get, args: {url: '$at$2'${3:-}}${4:-}"
}

get hello /hello
says hello '"status":"completed"' '"body":{"hello":"world"}'
get hops /hop/5
says hops '"body":{"hello":"world"}' "\"url\":\"$at/hello\""
get stay /hop/5 ', redirects: false'
says stay '"status":302' '"location":"/hop/4"'
get round /round
says round '"status":"failed"' '"code":"http.failed"' 'morethan10redirects'
get away /away # granted is the address, not the name
says away '"code":"http.denied"' 'aredirectledthere'
get chunked /chunked
says chunked '"body":"0;1;2;' '98;99;"'
get drip /drip
says drip '"body":"dropbydrop"'
get gzip /gzip
says gzip '"content-encoding":"gzip"' '"body":"zipped"'
get packed /text # as both sides like it best
says packed '"content-encoding":"' "$(printf 'ab%.0s' $(seq 50000))\""
get bomb /bomb
says bomb '"code":"http.failed"' '16777216bytes(decompressed)'
get huge /huge
says huge '"code":"http.failed"' 'islargerthan'
get small /text ', max_body: 1000'
says small '"code":"http.failed"' '1000bytes'
get once /later/once ', retries: 0'
says once '"code":"http.503"' '"attempts":1'
get itself /later/itself
says itself '"body":{"visits":2}' '"attempts":1'
get later /later/later ', retries: 0' ', retry_policy: {max_attempts: 2, delay: 1ms}'
says later '"body":{"visits":2}' '"attempts":2'
get silent /silent ', timeout_ms: 300'
says silent '"code":"http.timeout"'
get drop /drop
says drop '"code":"http.unreachable"'
get half /half
says half '"code":"http.unreachable"'
get none /nothing
says none '"code":"http.404"'
get seen /nothing ', any_status: true'
says seen '"status":404' '"status":"completed"'
run babble "tool: http/get, args: {url: 'http://127.0.0.1:$babble/'}"
says babble '"status":"failed"' '"code":"http.failed"'

run post "tool: http/request, args: {url: '$at/echo', json: {a: [1, 2.5]}}"
says post '"method":"POST"' '"type":"application/json"' '"body":{"a":[1,2.5]}'
run put "tool: http/submit, args: {url: '$at/echo', method: PUT, body: x}"
says put '"method":"PUT"' '"key":"'
run delete "tool: http/request, args: {url: '$at/echo', method: DELETE}"
says delete '"method":"DELETE"'

echo "$cases requests"
