#!/bin/sh
# demo.sh -- show in a minute that a run is durable: `make demo`.
#
# The triage graph reads a log that is serious, so a person must agree before
# the report is written.  This script kills the process twice on the way with
# SIGKILL, and another process resumes the run each time.
#
#     MORTISE_BUILD=build sh scripts/demo.sh
#
# Each command is kept as the text that is printed, and that text is what runs.
# So the printed commands, pasted into another shell in this directory, do the
# same again: none has the id of a process or of a request in it.
set -eu
cd "$(dirname "$0")/.."

build=${MORTISE_BUILD:-build}
mortise=$build/mortise
dir=$build/demo
where="--deployment configs/triage/mortise.yaml --store $dir/store"
unset MORTISE_DEPLOYMENT

say() {
    printf '\n\033[1m%s\033[0m\n' "$*"
}
show() { # show COMMAND: print it, then run it
    printf '$ %s\n' "$1"
    eval "$1"
}
fail() {
    echo "demo: $*" >&2
    exit 1
}
expect() { # expect EXIT-CODE COMMAND
    got=0
    show "$2" || got=$?
    [ "$got" = "$1" ] || fail "exit code $got, but $1 was expected"
}
# Start a command, and kill -9 it as soon as a line of its output matches.  The
# shell itself reads the lines: a process for each look would come too late.
kill_at() { # kill_at PATTERN COMMAND
    rm -f "$dir/lines"
    mkfifo "$dir/lines"
    : >"$dir/log"
    sh -c "exec $2" >"$dir/lines" 2>&1 &
    pid=$!
    while read -r line; do
        printf '%s\n' "$line" >>"$dir/log"
        # shellcheck disable=SC2254
        case $line in
        $1) kill -9 "$pid" && break ;;
        esac
    done <"$dir/lines"
    wait "$pid" 2>/dev/null || true
    printf '$ %s &\n' "$2"
    cat "$dir/log"
    printf '$ kill -9 $!\n'
}
status() {
    # shellcheck disable=SC2086
    "$mortise" runs $where | awk '$1 == "demo" { print $2 }'
}

anew="rm -rf $dir && mkdir -p $dir && cp configs/triage/sample.log $dir"
say "0. Begin with a log in a directory of its own, and read and write files only there."
show "$anew"
show "export TRIAGE_DIR=$(realpath "$dir")"
say "Plugins that another build loaded for you do not count in this demo."
show "export XDG_STATE_HOME=$(realpath "$dir")/state"

say "1. Triage a log, and kill the process as soon as it has read the file."
input='{"log": "sample.log", "report": "report.md"}'
run="$mortise run configs/triage/triage.graph.yaml --input '$input' --id demo --wait $where"
# On a busy machine the run may reach its question before the signal arrives.
# Then this part starts again.
for try in 1 2 3 4 5 6 7 8 9 10; do
    kill_at "*node_end\ read*" "$run" >"$dir.part"
    [ "$(status)" = interrupted ] && break
    eval "$anew"
done
cat "$dir.part"
rm "$dir.part"
[ "$(status)" = interrupted ] ||
    fail "in $try attempts, each run reached its question before the kill"

say "2. The process is gone. The run is not: it is on disk, in $dir/store."
expect 0 "$mortise runs $where"

say "3. Another process resumes the run, until a person is needed."
expect 4 "$mortise resume demo $where"
[ ! -e "$dir/report.md" ] || fail "the report was written before it was approved"

say "4. The inbox: requests of all runs that wait for a person."
expect 0 "$mortise inbox $where"

say "5. Approve that request; the inbox prints its id. Record the decision only; step 6 resumes the run."
expect 0 "$mortise approve \$($mortise inbox demo --ids $where) --reason 'looks right' --no-continue $where"

say "6. Resume, and kill the process again when it starts to write the report."
kill_at "*node_start\ write*" "$mortise resume demo $where"
case $(status) in
interrupted) echo "Killed." ;;
*) echo "The run ended before the signal arrived, this time." ;;
esac

say "7. Was the report written? The plugin can tell, so the engine neither guesses nor writes it twice."
expect 0 "$mortise resume demo $where"

say "8. The report, with addresses and secrets masked, written once."
show "cat $dir/report.md"
[ "$(grep -c '^# Triage' "$dir/report.md")" = 1 ] || fail "no report, or two"

say "9. Every checkpoint of the run, from five processes."
expect 0 "$mortise history demo $where"

say "That is what durable means. The run's artifacts: $mortise show demo $where"
