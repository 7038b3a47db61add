#!/bin/sh
# progress.sh -- one line of a build on a terminal.
#
#     scripts/progress.sh NUMBER TOTAL STARTED WHAT FILE
#
# STARTED is in seconds since 1970.  The time that is left assumes that the other
# lines take as long as those so far; it is shown from the tenth line on.
left=
if [ "$1" -gt 9 ] && [ "$1" -lt "$2" ]; then
    s=$((($(date +%s) - $3) * ($2 - $1) / $1))
    left=$(printf ' %d:%02d left' $((s / 60)) $((s % 60)))
fi
printf '[%*d/%d%s] %-5s %s\n' "${#2}" "$1" "$2" "$left" "$4" "$5"
