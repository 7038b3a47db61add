#!/bin/sh
# tls.sh -- whom the http plugin trusts: certificates made by OpenSSL, shown by
# its s_server, good and otherwise; and a connection that breaks before the
# engine gives it up (tls.c).
set -eu
. "$HERE/lib.sh"
cd "$WORK"

# ---- an authority, and what it signs ---------------------------------------

key() { # key NAME: a new one
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"
}
authority() { # authority NAME
    key "$1"
    openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 2 -out "$1.pem" \
        -addext basicConstraints=critical,CA:true \
        -addext keyUsage=critical,keyCertSign,cRLSign
}
sign() { # sign NAME ALTERNATIVE-NAMES FROM TO
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" -out "$1.csr"
    : >index.txt
    echo "subjectAltName = $2" >"$1.ext"
    cat >ca.cnf <<END
[ca]
default_ca = d
[d]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = p
[p]
commonName = supplied
END
    openssl ca -batch -config ca.cnf -create_serial -cert ours.pem \
        -keyfile ours.key -extfile "$1.ext" -startdate "$3" -enddate "$4" \
        -in "$1.csr" -out "$1.pem"
}
day() {
    date -u -d "$1 days" +%Y%m%d%H%M%SZ
}
{
    authority ours
    authority theirs
    sign good 'DNS:localhost, IP:127.0.0.1' "$(day -1)" "$(day 1)"
    sign other 'DNS:other.example' "$(day -1)" "$(day 1)"
    sign expired 'IP:127.0.0.1' "$(day -9)" "$(day -2)"
    sign early 'IP:127.0.0.1' "$(day 1)" "$(day 2)"
    key self
    openssl req -x509 -new -key self.key -subj /CN=self -days 2 -out self.pem \
        -addext subjectAltName=IP:127.0.0.1
} >made.log 2>&1 || fail "$(cat made.log)"

# ---- servers ---------------------------------------------------------------

servers=
trap 'kill $servers 2>/dev/null || :' EXIT
serve() { # serve NAME [OPTIONS]: sets `port`
    name=$1
    shift
    openssl s_server -accept 127.0.0.1:0 -www -cert "$name.pem" \
        -key "$name.key" "$@" >"$name.log" 2>&1 &
    servers="$servers $!"
    for _ in $(seq 100); do
        port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' "$name.log")
        [ -n "$port" ] && return
        sleep 0.1
    done
    fail "no server: $(cat "$name.log")"
}
get() { # get NAME [HOST]: deploys, runs
    deploy "https://127.0.0.1:$port" "https://localhost:$port"
    run "$1" "tool: http/get, args: {url: 'https://${2:-127.0.0.1}:$port/'}"
}
refused() { # refused NAME WORDS
    says "$1" '"status":"failed"' '"code":"http.failed"' '"attempts":1' "$2"
}

serve good
SSL_CERT_FILE=$WORK/ours.pem
export SSL_CERT_FILE
get good
says good '"status":"completed"' '"status":200'
get named localhost
says named '"status":"completed"' "\"url\":\"https://localhost:$port/\""
(
    SSL_CERT_FILE=$WORK/theirs.pem
    get stranger
)
refused stranger issuercertificate
(
    unset SSL_CERT_FILE # the system's authorities do not know ours
    get unknown
)
refused unknown issuercertificate
serve other
get other
refused other hostname
serve expired
get expired
refused expired expired
serve early
get early
refused early 'notyetvalid'
serve self
get self
refused self 'self-signed'
serve good -tls1_1 -cipher DEFAULT@SECLEVEL=0
get old
says old '"status":"failed"' '"code":"http.unreachable"'

# ---- the other end is gone when we give up ---------------------------------

node "$HERE/tls.js" good.pem good.key >"port" &
server=$!
servers="$servers $server"
for _ in $(seq 100); do
    [ -s port ] && break
    sleep 0.1
done
port=$(cat port)
deploy "https://127.0.0.1:$port"
cat >closing.yaml <<END
apiVersion: mortise/v1
kind: Graph
metadata: {name: closing}
start: a
nodes:
  a: {type: tool, tool: http/get, args: {url: 'https://127.0.0.1:$port/'}, next: END}
END
"$TESTS/tests/peers/tls" closing.yaml "$server" || fail "closing: exit code $?"

echo "$cases certificates, and a broken connection given up"
