#!/usr/bin/env python3
"""measure.py -- how large the source is, and how well it can be read.

    scripts/measure.py [BUILD]      (default: build, for the cycles of calls)

Prints, for the directories of the library and of the programs:

  * lines of code: not blank, no comment;
  * files over 800 lines, as they are;
  * static functions whose name stands in more than one file, as a share of all
    names of static functions;
  * free relative clauses (what, who, whose) per 1,000 words of comments;
  * the largest circle of files that call each other, per directory, with the tables
    that `make rooms` leaves out.
"""
import collections
import os
import re
import subprocess
import sys

TREES = ("core", "lang", "services", "server", "cli", "testkit", "tools", "worker")
ENDS = (".c", ".h", ".cpp", ".def")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STATIC = re.compile(r"^static\s[^;={}()]*?\b([a-z_][a-z0-9_]*)\(", re.M)


def sources():
    for tree in TREES:
        for where, _, names in os.walk(tree):
            for name in sorted(names):
                if name.endswith(ENDS):
                    yield os.path.join(where, name)


def room_of(path):
    """The directory whose circles are counted together, such as core/run or cli."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("core", "lang", "services") else parts[0]


def circles(build):
    """The largest set of files of each room in which each reaches each other by calls."""
    home, uses = {}, []
    objects = [p[:-2] + ".o" for p in sources() if p.endswith(".c")]
    for obj in objects:
        path = os.path.join(build, obj)
        if not os.path.exists(path):
            continue
        for line in subprocess.run(["nm", "-P", path], capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            if words[1] == "U":
                uses.append((obj, words[0]))
            elif words[1] in "TDBRVC":
                home[words[0]] = obj
    calls = collections.defaultdict(set)
    for obj, name in uses:
        to = home.get(name)
        if to and to != obj and room_of(to) == room_of(obj):
            calls[obj].add(to)
    found = collections.defaultdict(int)
    order, low, stack, on = {}, {}, [], set()
    sys.setrecursionlimit(10000)

    def visit(v):
        order[v] = low[v] = len(order)
        stack.append(v)
        on.add(v)
        for w in calls[v]:
            if w not in order:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], order[w])
        if low[v] == order[v]:
            size = 0
            while True:
                w = stack.pop()
                on.discard(w)
                size += 1
                if w == v:
                    break
            found[room_of(v)] = max(found[room_of(v)], size)

    for v in list(calls):
        if v not in order:
            visit(v)
    return found


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    code, large = collections.Counter(), []
    statics, words, relatives = collections.defaultdict(set), 0, 0
    for path in sources():
        text = open(path, errors="replace").read()
        bare = COMMENT.sub("", text)
        code[path.split("/")[0]] += sum(1 for line in bare.split("\n") if line.strip())
        if text.count("\n") > 800:
            large.append(path)
        if path.endswith(".c"):
            for name in STATIC.findall(bare):
                statics[name].add(path)
        for comment in COMMENT.findall(text):
            said = re.findall(r"[A-Za-z']+", comment)
            words += len(said)
            relatives += sum(1 for w in said if w.lower() in ("what", "who", "whose"))
    for tree in TREES:
        print(f"{code[tree]:8,} lines of code in {tree}/")
    print(f"{sum(code.values()):8,} lines of code in all")
    shared = [n for n, files in statics.items() if len(files) > 1]
    most = max(shared, key=lambda n: len(statics[n]), default="")
    print(f"{len(large):8} files over 800 lines")
    print(f"{100 * len(shared) / max(1, len(statics)):7.1f}% of the names of static functions stand in more than one file"
          f" ({most}: {len(statics[most])})")
    print(f"{1000 * relatives / max(1, words):8.1f} what, who, whose per 1,000 words of comments ({words:,} words)")
    for room, size in sorted(circles(build).items(), key=lambda t: -t[1])[:3]:
        print(f"{size:8} files of {room} call each other in a circle")


if __name__ == "__main__":
    main()
