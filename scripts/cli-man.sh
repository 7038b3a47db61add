#!/bin/sh
# cli-man.sh -- the man pages of section 1 from the command's own help texts, as
# docs/cli.md is, so that no page and the program can disagree.
#
#     scripts/cli-man.sh MORTISE DATE DIR    writes DIR/mortise.1, mortise-run.1 ...
#
# A help text is: usage; a sentence; paragraphs; then sections that begin with
# "Words:", whose lines are indented by two.  Of those, options, commands and
# exit codes are lists of a term and what it means, 26 columns to its right or
# on the lines below; examples are as they are.
set -eu
m=$1
date=$2
dir=$3

version=$("$m" version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')

page() { # page NAME <HELP
    awk -v name="$1" -v date="$date" -v version="$version" '
    function text(s) {
        gsub(/\\/, "\\e", s)
        gsub(/-/, "\\-", s)
        if (s ~ /^[.\047]/)
            s = "\\&" s
        return s
    }
    # A section ends: what it left open is closed.
    function over() {
        if (mode == "literal")
            print ".EE"
        mode = ""
    }
    function section(title) {
        over()
        print ".SH " toupper(title)
        mode = title ~ /^(Options|Commands|Exit codes)$/ ? "list" : "literal"
        if (mode == "literal")
            print ".EX"
    }
    function entry(line,   gap) {
        sub(/^ +/, "", line)
        gap = match(line, /  +/)
        print ".TP"
        print ".B " text(gap ? substr(line, 1, gap - 1) : line)
        if (gap)
            print text(substr(line, gap + RLENGTH))
    }
    NR == 1 {
        usage = $0
        sub(/^Usage: /, "", usage)
        next
    }
    NR == 2 { next }
    NR == 3 {
        summary = $0
        sub(/\.$/, "", summary)
        print ".\\\" Made by tools/cli\\-man.sh from the help text."
        print ".TH " toupper(name) " 1 " date " \"Mortise " version "\""
        print ".SH NAME"
        print text(name) " \\- " text(summary)
        print ".SH SYNOPSIS"
        print ".B " text(usage)
        next
    }
    /^[A-Z][^.]*:$/ {
        sub(/:$/, "")
        section($0)
        next
    }
    /^$/ {
        blank = 1
        next
    }
    /^ / && mode == "list" {
        if ($0 ~ /^ ? ? ? ?[^ ]/)
            entry($0)
        else {
            sub(/^ +/, "")
            print text($0)
        }
        blank = 0
        next
    }
    /^ / && mode == "literal" {
        if (blank && lines)
            print ""
        lines++
        blank = 0
        print text(substr($0, 3))
        next
    }
    {
        if (mode == "literal" || mode == "list") {
            over()
            print noted++ ? ".PP" : ".SH NOTES"
            described = 1
        } else if (!described) {
            print ".SH DESCRIPTION"
            described = 1
        } else if (blank)
            print ".PP"
        blank = 0
        print text($0)
    }
    END {
        over()
        if (name == "mortise") {
            print ".SH FILES"
            print "These pages and the headers mention"
            print ".IR docs/ ,"
            print ".I configs/"
            print "and"
            print ".IR examples/ :"
            print "they are in"
            print ".I share/doc/mortise"
            print "of the installation."
        }
        print ".SH SEE ALSO"
        if (name != "mortise")
            print ".BR mortise (1),"
        print ".BR mortise\\-graph (5),"
        print ".BR mortise\\-deployment (5)"
    }'
}

mkdir -p "$dir"
"$m" --help | page mortise >"$dir/mortise.1"
"$m" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\( [a-z-]*\)\{0,1\}\)  .*/\1/p' |
    while read -r command; do
        name=mortise-$(echo "$command" | tr ' ' -)
        # shellcheck disable=SC2086
        "$m" $command --help | page "$name" >"$dir/$name.1"
    done
