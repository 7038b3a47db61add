#!/bin/sh
# demo.sh -- what durable means, in a minute: `make demo` runs this.
#
# The triage graph reads a log that is serious, so a person must agree before
# the report is written.  We kill the process twice on the way, with SIGKILL,
# and every time another process goes on where it was.
#
#     MORTISE_BUILD=build sh tools/demo.sh
set -eu
cd "$(dirname "$0")/.."

build=${MORTISE_BUILD:-build}
mortise=$build/mortise
dir=$build/demo
export MORTISE_DEPLOYMENT=configs/triage/mortise.yaml
rm -rf "$dir"
mkdir -p "$dir"
# What this user saw of another build's plugins says nothing of these.
XDG_STATE_HOME=$(realpath "$dir")/state
export XDG_STATE_HOME

say() {
    printf '\n\033[1m%s\033[0m\n' "$*"
}
show() { # the command as one would type it, then what it does
    printf '$ %s\n' "$*"
    "$@"
}
fail() {
    echo "demo: $*" >&2
    exit 1
}
expect() { # expect EXIT-CODE COMMAND...
    want=$1
    shift
    got=0
    show "$@" || got=$?
    [ "$got" = "$want" ] || fail "exit code $got where $want was expected"
}
# Start a command in the background, wait for a line in its output, kill -9.
kill_at() { # kill_at PATTERN COMMAND...
    pattern=$1
    shift
    printf '$ %s &\n' "$*"
    "$@" >"$dir/log" 2>&1 &
    pid=$!
    until grep -q "$pattern" "$dir/log"; do
        kill -0 "$pid" 2>/dev/null || break
    done
    if kill -9 "$pid" 2>/dev/null; then
        died="Killed."
    else
        died="It was quicker than we were, this time."
    fi
    wait "$pid" 2>/dev/null || true
    cat "$dir/log"
    printf '$ kill -9 %s\n%s\n' "$pid" "$died"
}

input="{\"log\": \"configs/triage/sample.log\", \"report\": \"$dir/report.md\"}"
store="--store $dir/store"

say "1. Triage a log, and kill the process as soon as the file was read."
# shellcheck disable=SC2086
kill_at "node_end read" "$mortise" run configs/triage/triage.graph.yaml \
    --input "$input" --id demo --wait $store

say "2. The process is gone. The run is not: it is on disk, in $dir/store."
# shellcheck disable=SC2086
expect 0 "$mortise" runs $store

say "3. Another process goes on where it was, until somebody is needed."
# shellcheck disable=SC2086
expect 4 "$mortise" resume demo $store
[ ! -e "$dir/report.md" ] || fail "the report was written before it was approved"

say "4. What waits for a person, over all runs."
# shellcheck disable=SC2086
expect 0 "$mortise" inbox $store

say "5. Approve what was just shown, by its id. (Only record that; going on is the next process's affair.)"
# shellcheck disable=SC2046,SC2086
expect 0 "$mortise" approve $("$mortise" inbox demo --ids $store) --reason "looks right" --no-continue $store

say "6. Go on, and be killed again at once, about where the report is written."
# shellcheck disable=SC2086
kill_at "command=resume" "$mortise" resume demo $store

say "7. Was it written? The plugin can tell, so nobody guesses, and nothing is done twice."
# shellcheck disable=SC2086
expect 0 "$mortise" resume demo $store

say "8. The report, with addresses and secrets masked, written once."
show cat "$dir/report.md"
[ "$(grep -c '^# Triage' "$dir/report.md")" = 1 ] || fail "no report, or two"

say "9. Every checkpoint of it, over five processes."
# shellcheck disable=SC2086
expect 0 "$mortise" history demo $store

say "That is what durable means. The run's artifacts: $mortise show demo $store"
