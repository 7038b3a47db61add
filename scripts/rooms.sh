#!/bin/sh
# rooms.sh -- do calls and includes go one way, and are names the library's?
#
#     scripts/rooms.sh TREE OBJECTS        e.g. . build
#
# TREE/ROOMS says what the rooms are, in which order they lie, and how names
# begin that files share: who links the library has names, too.  Includes are read
# from the sources, calls (and data that is named) from the objects, and what a port
# declares from the header.
set -eu
export LC_ALL=C

tree=$1
objects=$2
# The directories that the rooms are in.
tops=$(awk '/^#/ || NF == 0 { next }
    $1 !~ /^(table|prefix|port)$/ { sub("/.*", "", $1); print $1 }' \
    "$tree/ROOMS" | sort -u)

# declared FILE: the names of functions and data, before a (, [ or ;, outside
# comments.
declared() {
    awk -v file="$1" '{ text = text $0 "\n" }
        END {
            gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", text)
            while (match(text, /[A-Za-z_][A-Za-z0-9_]*[[(;]/)) {
                print "P", file, substr(text, RSTART, RLENGTH - 1)
                text = substr(text, RSTART + RLENGTH)
            }
        }' "$tree/$1"
}

# shellcheck disable=SC2086
{
    sed 's/^/R /' "$tree/ROOMS"
    awk '$1 == "port" { print $2 }' "$tree/ROOMS" |
        while read -r port; do declared "$port"; done
    (cd "$tree" && grep -rn --include='*.[ch]' '^#include "' $tops |
        sed -n 's|^\([^:]*\):[0-9]*:#include "\([^"]*\)".*|I \1 \2|p')
    # An object whose source is gone is nobody's.
    (cd "$tree" && find $tops -name '*.c' | sed 's|c$|o|') |
        (cd "$objects" && xargs nm -A -P 2>/dev/null) |
        sed 's|^\([^:]*\): |S \1 |'
} | awk '
function room_of(file, i, best) {
    best = ""
    if (file in cache)
        return cache[file]
    for (i = 1; i <= n_rooms; i++)
        if (index(file "/", rooms[i] "/") == 1 &&
            length(rooms[i]) > length(best))
            best = rooms[i]
    cache[file] = best
    return best
}

function complain(text) {
    print "rooms: " text >"/dev/stderr"
    bad = 1
}

# Does the second file lie above the first?
function above(from, to, a, b) {
    a = room_of(from)
    b = room_of(to)
    return a != "" && b != "" && place[b] > place[a]
}

# An arrow from a file to another: may it be?
function arrow(from, to, what, a, b) {
    a = room_of(from)
    b = room_of(to)
    if (above(from, to))
        complain(from " (" a ") " what " of " to " (" b "), which lies above it")
}

# Tarjan: files of one room that call each other in a circle.
function visit(v, list, n, i, w, size, names) {
    order[v] = low[v] = ++clock
    stack[++top] = v
    on[v] = 1
    n = split(calls[v], list, " ")
    for (i = 1; i <= n; i++) {
        w = list[i]
        if (!(w in order)) {
            visit(w)
            low[v] = low[w] < low[v] ? low[w] : low[v]
        } else if (on[w]) {
            low[v] = order[w] < low[v] ? order[w] : low[v]
        }
    }
    if (low[v] != order[v])
        return
    do {
        w = stack[top--]
        on[w] = 0
        size++
        names = names " " w
    } while (w != v)
    if (size > largest[room_of(v)]) {
        largest[room_of(v)] = size
        circle[room_of(v)] = names
    }
}

$1 == "R" && ($2 == "" || $2 ~ /^#/) { next }
$1 == "R" && $2 == "table" { table[$3] = 1; next }
$1 == "R" && $2 == "prefix" { prefix = $3; next }
$1 == "R" && $2 == "port" { ports[$3] = 0; next }
$1 == "P" { port[$3] = $2; next }
$1 == "R" {
    rooms[++n_rooms] = $2
    place[$2] = n_rooms
    most[$2] = $3 == "" ? 6 : $3
}
$1 == "I" { includes[++n_includes] = $2 " " $3 }
$1 == "S" && $3 ~ /^(_[Ee]xit|main)$/ { next } # of the C library
$1 == "S" {
    file = $2
    sub(/\.o$/, ".c", file)
    if ($4 == "U")
        uses[++n_uses] = file " " $3
    else if ($4 ~ /^[TDBRVC]$/)
        home[$3] = file
}
$1 == "S" && $4 ~ /^[TDBRVCW]$/ && index($3, prefix) != 1 {
    complain(file " defines " $3 ", which does not begin with " prefix)
}

END {
    for (i = 1; i <= n_includes; i++) {
        split(includes[i], a, " ")
        if (room_of(a[2]) != "" && !(a[1] in table))
            arrow(a[1], a[2], "includes something")
    }
    for (i = 1; i <= n_uses; i++) {
        split(uses[i], a, " ")
        to = home[a[2]]
        if (to == "" || to == a[1] || a[1] in table)
            continue
        if (a[2] in port && above(port[a[2]], to)) {
            ports[port[a[2]]]++
            if (above(a[1], to)) {
                arrow(a[1], port[a[2]], "uses " a[2])
                continue
            }
        }
        arrow(a[1], to, "uses " a[2])
        if (room_of(to) == room_of(a[1]) && !((a[1], to) in known)) {
            known[a[1], to] = 1
            calls[a[1]] = calls[a[1]] " " to
            all[a[1]] = 1
        }
    }
    for (v in ports)
        if (ports[v] == 0)
            complain("ROOMS says that " v " is a port, but nothing that it " \
                     "declares is defined above it and used")
    for (v in all)
        if (!(v in order))
            visit(v)
    for (i = 1; i <= n_rooms; i++) {
        r = rooms[i]
        if (largest[r] > most[r])
            complain(r " has " largest[r] " files that call each other in a " \
                     "circle, and may have " most[r] ":" circle[r])
        else if (largest[r] > 1 && most[r] > 6 && largest[r] < most[r])
            complain("ROOMS allows " r " a circle of " most[r] \
                     "; it has one of " largest[r] ": say so")
    }
    exit bad
}'
