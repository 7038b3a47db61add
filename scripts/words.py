#!/usr/bin/env python3
"""words.py -- how plain is the English of these files?

    scripts/words.py [--worst N] FILE...          Markdown, man pages, C comments
    scripts/words.py [--worst N] --added BASE     only what the change since BASE adds, in this git checkout
    scripts/words.py [--worst N] --groups         docs, man pages, messages, headers and comments of this tree

Prints, for each file or group and for all: the sentences, the mean words of a sentence, the share of sentences with more
than 30 words, and for 100 sentences:

    free    how many begin with a free relative or a bare quantifier (What ..., Who ..., Whoever ..., Of ...)
    vague   how many contain an idiom in place of a technical verb (says, is told, comes to, goes on, lets go, holds, ...)
    pron    how many begin with a pronoun that the reader has to look up (It, They, This, That, These, Those, One)

--worst N lists the N sentences that are least plain; with --groups, of each group.  The figures are a thermometer and no
gate: a page is good when a reader who never saw Mortise can act on it after one reading.
"""
import pathlib
import re
import shutil
import subprocess
import sys

FREE = re.compile(r"^(what|who|whoever|whatever|whose|of|where that|that which|nobody|somebody|so (many|much|often)|"
                  r"no more)\b", re.I)
PRON = re.compile(r"^(it|they|this|that|these|those|one|both|neither|either|each of them)\b", re.I)
VAGUE = re.compile(
    r"\b(says?|said|told|tells?|comes? to|came of|goes on|go on|went on|lets? go|let go|"
    r"stands? (in|at|for|on|behind|beside|still)|held against|holds? (of|to|it|for|back)|is over|"
    r"what (is|was|came|it|they)|who (is|was|has|may)|whoever|whatever|where (it|that|there) (is|are)|is none|are none|"
    r"there is none|as (it|they) (was|were|is|are)|comes up|in words|for good|the like|likewise)\b", re.I)

C_FILE = re.compile(r"\.(c|h|def|cc|cpp)$")
CODE = re.compile(r"\b(CREATE|SELECT|INSERT|DELETE|esac)\b")  # in a message: SQL, a shell's
MAN_PAGE = re.compile(r"\.[1-9]$")

# ---- the prose of a file ------------------------------------------------------


def comments(text):
    found = re.findall(r"/\*(.*?)\*/", text, re.S)
    return "\n\n".join(re.sub(r"^\s*\*+ ?", "", c, flags=re.M) for c in found if len(c.split()) > 3)


def messages(text):
    """String literals of C with at least four words, neighbours joined."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    literal = r'"(?:[^"\\\n]|\\.)*"'
    out = []
    for run in re.findall(r"%s(?:\s*(?:PRI\w+\s*)?%s)*" % (literal, literal), text):
        s = "".join(p[1:-1] for p in re.findall(literal, run))
        s = s.replace("\\n", "\n").replace('\\"', '"').replace("\\t", " ").replace("\\\\", "\\")
        s = re.sub(r"%[-+ #0-9.*]*(?:hh|h|ll|l|j|z|t)?[a-zA-Z]", "X", s)
        letters = sum(c.isalpha() or c.isspace() for c in s)
        if len(re.findall(r"[A-Za-z]{2,}", s)) > 3 and letters > 0.85 * len(s) and not CODE.search(s):
            out.append(s)
    return "\n\n".join(out)


def markdown(text):
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"^\s*(\||#).*$", "", text, flags=re.M)
    return re.sub(r"^\s*([-*]|\d+\.) ", "\n\n", text, flags=re.M)


def man_page(path):
    """The rendered page; without man(1), the source without its macros."""
    if shutil.which("man") and shutil.which("col"):
        p = subprocess.run("man -l '%s' 2>/dev/null | col -b" % path, shell=True, capture_output=True, text=True,
                           env={"MANWIDTH": "100000", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
        if p.stdout:
            return p.stdout
    text = pathlib.Path(path).read_text(errors="replace")
    text = re.sub(r"^\.EX.*?^\.EE", "", text, flags=re.S | re.M)
    text = re.sub(r"^\.(TH|SH|SS|PP|TP|IP|RS|RE)\b.*$", "\n", text, flags=re.M)
    text = re.sub(r"^\.[A-Z]+ ", "", text, flags=re.M)
    return re.sub(r"\\(f.|[-&|^])", "", text)


def read(path):
    if MAN_PAGE.search(str(path)):
        return man_page(path)
    text = pathlib.Path(path).read_text(errors="replace")
    return comments(text) if C_FILE.search(str(path)) else markdown(text)


def added(base):
    """What the change adds, by file: comment lines of C and prose of documents, neighbours joined."""
    out = subprocess.run(["git", "diff", "-U0", base, "--", "*.c", "*.h", "*.def", "*.md", "*.[1-9]"],
                         capture_output=True, text=True, check=True).stdout
    files, name = {}, None
    for line in out.splitlines():
        if line.startswith("+++ "):
            name = line[6:]
        elif line.startswith("@@"):
            files[name] = files.get(name, "") + "\n\n"
        elif line.startswith("+") and name:
            s = line[1:]
            if C_FILE.search(name):
                m = re.match(r"^\s*(?:/\*+|\*+)(?!/)\s?(.*?)(\*/)?\s*$", s) or re.search(r"/\*(.*?)\*/", s)
                s = m.group(1) if m else "\n"
            elif s.startswith((".", "|", "#", "    ", "```")):
                s = "\n"
            files[name] = files.get(name, "") + s + "\n"
    return files


def groups():
    """The groups of this tree: a name, and its files with the prose of each."""
    tree = pathlib.Path(".")
    docs = [tree / "README.md", tree / "CONTRIBUTING.md", tree / "CHANGELOG.md", *tree.glob("docs/**/*.md"),
            *tree.glob("configs/**/*.md"), *tree.glob("examples/**/*.md")]
    headers = [*tree.glob("sdk/mortise/*.h"), tree / "core/mortise.h"]
    sources = [p for d in ("core", "lang", "services", "server", "cli", "testkit", "tools", "worker", "plugins", "sdk", "templates", "examples", "tests") for p in tree.glob(d + "/**/*")
               if C_FILE.search(p.name) and p.is_file() and p not in headers]
    speaking = [p for p in sources if p.parts[0] not in ("sdk", "templates", "examples", "tests")]
    return {
        "docs": {p: read(p) for p in docs if p.name not in ("cli.md", "errors.md")},
        "man pages": {p: read(p) for p in tree.glob("docs/man/*.[1-9]")},
        "messages": {p: messages(p.read_text(errors="replace")) for p in speaking},
        "headers": {p: read(p) for p in headers},
        "comments": {p: read(p) for p in sources},
    }


# ---- figures ------------------------------------------------------------------


def sentences(text):
    text = re.sub(r"`[^`]*`", "CODE", text)
    for para in re.split(r"\n\s*\n", text):
        para = " ".join(para.split())
        for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`(\"*])", para):
            n = len(re.findall(r"[A-Za-z][A-Za-z'-]*", s))
            if n >= 4:
                yield s, n


def bare(s):
    return re.sub(r"^[\W_]+", "", s)


def badness(s, n):
    return 3 * bool(FREE.match(bare(s))) + 2 * len(VAGUE.findall(s)) + bool(PRON.match(bare(s))) + max(0, n - 20) / 6


def row(name, found):
    n = len(found)
    if n == 0:
        return

    def share(fits):
        return 100 * sum(1 for s, _ in found if fits(bare(s))) / n

    print(f"{name[-46:]:46} {n:6} {sum(w for _, w in found) / n:6.1f} {100 * sum(w > 30 for _, w in found) / n:5.0f}% "
          f"{share(FREE.match):6.1f} {share(VAGUE.search):6.1f} {share(PRON.match):6.1f}")


def print_worst(found, count):
    for s, _, name in sorted(found, key=lambda x: -badness(x[0], x[1]))[:count]:
        print(f"  {name}: {s[:300]}")


def measure(texts):
    return [(s, n, name) for name, t in texts.items() for s, n in sentences(t)]


def head():
    print(f"{'':46} {'sents':>6} {'words':>6} {'>30':>6} {'free':>6} {'vague':>6} {'pron':>6}")


def print_groups(worst):
    measured = {name: measure(texts) for name, texts in groups().items()}
    head()
    for name, found in measured.items():
        row(name, [(s, n) for s, n, _ in found])
    for name, found in measured.items():
        if worst:
            print(f"\n{name}: the {worst} worst sentences")
            print_worst(found, worst)


def main(args):
    worst, texts = 0, None
    while args and args[0].startswith("--"):
        if args[0] == "--groups" and len(args) == 1:
            print_groups(worst)
            return
        if args[0] == "--worst" and len(args) > 1:
            worst = int(args[1])
        elif args[0] == "--added" and len(args) > 1:
            texts = added(args[1])
        else:
            sys.exit(__doc__)
        args = args[2:]
    if texts is None:
        texts = {f: read(f) for f in args}
    if not texts:
        sys.exit(__doc__)
    head()
    if len(texts) < 40:
        for name, text in texts.items():
            row(name, list(sentences(text)))
    everything = measure(texts)
    row("all", [(s, n) for s, n, _ in everything])
    print_worst(everything, worst)


if __name__ == "__main__":
    main(sys.argv[1:])
