/* codes.c -- every code that a finding may carry, with its explanation.
 *
 * One table, so that documentation, tests and the program cannot disagree.
 * A code may be reported with different words; the explanation holds for all
 * of them. */
#include "yaml/codes.h"

#include <string.h>

/* How most examples begin. */
#define START_A "start: a\nnodes:\n"

const struct mortise_code mortise_codes[] = {
    {"E0101", "a file cannot be read",
     "The file does not exist, is a directory, or may not be read by this "
     "user.",
     "# mortise check no-such-file.yaml\n"},
    {"E0102", "a file is too large",
     "A file may have 16 MiB, the manifest of a plugin 1 MiB.",
     "# A file of 17 MiB.  Put long texts into files that a node reads.\n"},
    {"E0103", "a file is empty",
     "The file holds nothing but space and comments.",
     "# nothing but this comment\n"},
    {"E0104", "a character that cannot stand in a file",
     "Files are UTF-8 without control characters (tab and line ends aside), "
     "NUL bytes and the line breaks U+0085, U+2028 and U+2029.  Inside double "
     "quotes every character can be written as \\uXXXX.",
     "name: \"write \\u0007, not the character itself\" # \a\n"},
    {"E0105", "a byte order mark",
     "Save the file as UTF-8 without byte order mark.",
     "# The editor's \"UTF-8 with BOM\" is the wrong choice; \"UTF-8\" is "
     "right.\n"},
    {"E0106", "broken YAML",
     "The text does not follow YAML's grammar.  Often a value needs quotes, "
     "or a line is indented by too little or too much.",
     "goal: summarize: the log   # quote it: \"summarize: the log\"\n"},
    {"E0107", "a tab as indentation", "YAML indents with spaces.",
     "nodes:\n"
     "\ta: {type: tool}\n"},
    {"E0108", "a key stands twice in one mapping",
     "Which of the two would count is nobody's to guess.  Remove one.",
     "goal: count\n"
     "goal: count again\n"},
    {"E0109", "a key that is no string",
     "Keys are strings: 1, true, null and lists are none.  Quote the key.",
     "nodes:\n"
     "  1: {type: tool, tool: text/lines}\n"},
    {"E0110", "a merge key",
     "Merge keys (<<) are not part of YAML 1.2.  Use an alias for each value, "
     "or write the keys out.",
     START_A "  a: {<<: {type: tool}, tool: text/lines, next: END}\n"},
    {"E0111", "a tag or directive",
     "Tags (!name, !!str) and directives other than %YAML 1.2 are refused: "
     "the type of a value follows from how it is written.",
     "goal: !!str 12   # write \"12\"\n"},
    {"E0112", "more than one document", "A file holds one document.",
     "goal: one\n"
     "---\n"
     "goal: two\n"},
    {"E0113", "nested too deep", "Values may nest 64 deep.",
     "x-deep: "
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]"
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"},
    {"E0114", "aliases out of bounds",
     "Aliases may add 100,000 nodes in all, a file may have 1,000 anchors, "
     "and what an alias stands for counts for the depth of 64.",
     "x-a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
     "x-b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
     "x-c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
     "x-d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
     "x-e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"},
    {"E0115", "an alias without anchor",
     "An alias (*name) stands for what an anchor (&name) before it named, and "
     "not for something that it is part of.",
     "goal: *there   # &there comes before\n"},
    {"E0116", "a number out of range",
     "Integers have 64 bits and a sign, and numbers are finite.  Quote it if "
     "it is meant as a string.",
     "limits: {nodes: 99999999999999999999}\n"},

    {"E0201", "an unknown key",
     "The language has no such key here.  Keys that begin with x- are yours "
     "and are ignored.",
     "stat: a   # start\n"},
    {"E0202", "a key that is not in this build",
     "The key belongs to the language, but this build cannot do what it "
     "says, and ignoring it would be worse.",
     "kind: Deployment\nstore: {retention: {keep_last: 3}}\n"},
    {"E0203", "a value of the wrong kind",
     "The key takes another kind of value.  Durations and sizes carry a unit "
     "(30s, 64KiB), and what looks like a number but is meant as a string "
     "needs quotes.",
     START_A
     "  a: {type: tool, tool: text/lines, timeout: 30, next: END}   # 30s\n"},
    {"E0204", "a key of another type of node",
     "The key belongs to the language, but not to nodes of this type.",
     START_A
     "  a: {type: tool, tool: text/lines, prompt: Go on?, next: END}\n"},
    {"E0205", "a value that is not in this build",
     "The value belongs to the language, but this build cannot do what it "
     "says, and ignoring it would be worse.",
     "state: {scratch: {$schema: 'http://json-schema.org/draft-07/schema#'}}"
     "\n"},
    {"E0206", "a missing key", "Something here must be said and is not.",
     START_A "  a: {type: tool, next: END}   # which tool?\n"},
    {"E0207", "an unknown word", "The key takes one of a few words.",
     START_A "  a: {type: tol, tool: text/lines, next: END}\n"},
    {"E0208", "a value out of bounds",
     "The value has the right kind and is too small, too large or empty.",
     "limits: {concurrency: 0}\n"},
    {"E0209", "a broken JSON Schema",
     "Schemas follow JSON Schema, draft 2020-12.  References stay inside the "
     "schema: nothing is ever fetched.  `format` says something to people and "
     "checks nothing; `pattern` is ECMA-262's.",
     "state: {input: {type: strnig}}\n"},
    {"E0210", "another kind of file",
     "The first lines say what a file is: apiVersion: mortise/v1 and kind.",
     "apiVersion: mortise/v1\n"
     "kind: Grahp\n"},
    {"E0211", "a name that is none",
     "Ids of nodes and names of artifacts are a letter or _ and up to 63 "
     "letters, digits, _ and -.  A code of an error is a small letter and up "
     "to 63 small letters, digits, _ and dots, and none of determinism, "
     "guardrail, in_doubt and rejected, which only the engine gives.",
     "start: 1st\n"
     "nodes:\n"
     "  1st: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"E0212", "keys that do not go together",
     "Of these keys one needs the other, or only one may stand.",
     START_A
     "  a: {type: tool, tool: text/lines, default: END}   # default needs "
     "routes\n"},
    {"E0213", "a path that cannot be written",
     "Nodes write below scratch and artifacts: scratch.label, "
     "artifacts.report.title, scratch[\"odd name\"].",
     START_A
     "  a: {type: tool, tool: text/lines, outputs: {input.x: output}, next: "
     "END}\n"},
    {"E0214", "a path that stands twice",
     "Two spellings of one path, or one path in two lines.",
     "state: {reducers: {scratch.a: last, 'scratch[\"a\"]': first}}\n"},
    {"E0301", "an unknown node", "No node has this id.",
     START_A "  a: {type: tool, tool: text/lines, next: nowhere}\n"},
    {"E0302", "START or END in the wrong place",
     "START and END are reserved: nothing leads to START, nothing leaves END, "
     "and no node has these ids.",
     START_A "  a: {type: tool, tool: text/lines, next: START}\n"},
    {"E0303", "a graph without start",
     "Say where runs begin: start: ID, or edges from START.",
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"E0304", "a circle of depends_on",
     "Nodes that wait for each other never start.",
     "start: c\n"
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, depends_on: b}\n"
     "  b: {type: tool, tool: text/lines, depends_on: [a, c]}\n"
     "  c: {type: tool, tool: text/lines}\n"},
    {"E0305", "a loop that is entered at several nodes",
     "A loop has one node where it is entered, and its next visit starts "
     "there.  What comes from outside, START included, leads to that one.",
     "start: [a, b]   # a loop is entered at one node\n"
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: a}\n"},
    {"E0306", "a node that nothing reaches",
     "No way leads from START to the node, so it could never run.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: END}   # who "
     "leads here?\n"},
    {"E0307", "an edge that contradicts itself",
     "A conditional edge says when, a static edge does not.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"
     "edges:\n"
     "  - {from: a, to: END, type: conditional}   # when?\n"},
    {"E0308", "a router without a way out for every case",
     "A router takes the first of its routes that holds; default says where "
     "to go when none does.",
     START_A
     "  a: {type: router, routes: [{when: input.ok, to: END}]}   # default: "
     "END\n"},
    {"E0309", "an edge that leaves a router on the side",
     "A router chooses one way; edges that are always taken contradict it.",
     START_A
     "  a: {type: router, routes: [{when: input.ok, to: END}], default: END}\n"
     "  b: {type: tool, tool: text/lines, depends_on: a}   # a's routes say "
     "who follows\n"},
    {"E0310", "a reroute without target, or a target without reroute",
     "on_violation: reroute and reroute_target belong together.  Guardrails of "
     "tools alone reroute nothing: there is no way around a call.",
     START_A
     "  a: {type: guardrail, guardrails: [pattern], on_violation: reroute, "
     "next: END}\n"},
    {"E0311", "too many nodes, or none",
     "A graph has at least one node and at most limits.nodes.",
     "start: a\n"
     "nodes: {}\n"},
    {"E0312", "a map whose body is not closed",
     "What stands between `to` and `join` of a map belongs to an element: it "
     "is entered at `to` and left to `join` alone (edges to END end a branch "
     "anywhere).  An element's result is the output of the node that leads to "
     "the join.",
     START_A
     "  a: {type: human, prompt: x, map: {over: input.list, to: b, join: c}}\n"
     "  b: {type: human, prompt: x, next: END}   # and what leads to c?\n"
     "  c: {type: human, prompt: x}\n"},
    {"E0313", "nested too deep",
     "Maps may stand 8 deep in each other, loops and maps together 64, graphs "
     "limits.depth.",
     "limits: {depth: 0}\n" START_A
     "  a: {type: subgraph, graph: {start: b, nodes: {b: {type: human, prompt: "
     "x}}}}\n"},
    {"E0314", "a name that hides another",
     "An element's name (`as`) must differ from those that expressions have "
     "anyway and from that of a map around it.",
     START_A
     "  a: {type: human, prompt: x, map: {over: input.list, as: output, to: b, "
     "join: c}}\n"
     "  b: {type: human, prompt: x, next: c}\n"
     "  c: {type: human, prompt: x}\n"},
    {"E0315", "a graph that is not there",
     "`graph` names a file, seen from the file that says so (a path has a '/' "
     "or ends with .yaml, .yml or .json), or a graph by its metadata, NAME or "
     "NAME@VERSION, in the *.graph.yaml files of the same directory.",
     START_A "  a: {type: subgraph, graph: ./missing.graph.yaml}\n"},
    {"E0316", "a graph that would contain itself",
     "Graphs that name each other must end somewhere.  What comes again and "
     "again is a loop of nodes.",
     START_A "  a: {type: subgraph, graph: ./example.yaml}\n"},
    {"E0317", "a graph that is another than was pinned",
     "`version` and `digest` of a graph that stands elsewhere are those of "
     "the file: when it changes, whoever uses it is to look first.",
     "metadata: {name: example, version: 1.0.0}\n" START_A
     "  a: {type: subgraph, graph: {file: ./example.yaml, version: 2.0.0}}\n"},

    {"E0318", "guardrails where nothing passes",
     "Guardrails of an edge judge the output of the node that it leaves.  "
     "START "
     "has none, nor has a router.  Those of tools judge what a gmi's model "
     "calls the tools of its tool_allowlist with, and what these give.",
     START_A "  a: {type: router, routes: [{when: input.ok, to: END, "
             "guardrail_policy: {input: [pattern]}}], default: END}\n"},
    {"E0319", "a budget that a node may break",
     "A budget reserves the most that a call may use before it is made, as "
     "the operation's manifest says it (`usage`); of a model, as the node's "
     "`max_tokens` and the alias's `price` say it. Where that says nothing of "
     "what the budget bounds, nobody knows what to reserve.  For usd, "
     "`unpriced: allow` has such calls made, and counts what they tell.",
     "# a plugin's manifest: ask: {effect: read, usage: {output_tokens: 500}}\n"
     "# a node that asks a model: max_tokens: 500\n"
     "# budget: {tokens: 1000}\n"
     "# and a node with tool: PLUGIN/ask, of whose input_tokens nobody "
     "knows\n"},

    {"E0401", "an expression that cannot work",
     "The expression is not CEL, or uses a name, member or function that is "
     "not there, or compares what cannot be compared.",
     START_A
     "  a: {type: router, routes: [{when: inptu.ok, to: END}], default: "
     "END}\n"},
    {"E0402", "a template that is never closed",
     "${ opens an expression and } ends it.  A literal ${ is written $${.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: \"${input.text\"}, "
     "next: END}\n"},
    {"E0403", "a value of the wrong kind",
     "A condition is true or false, a router's condition gives an id of its "
     "targets, `over` a list; what is written to a path, or passed as an "
     "argument, fits its schema. This expression always gives something else.",
     START_A
     "  a: {type: router, routes: [{when: \"'yes'\", to: END}], default: "
     "END}\n"},
    {"E0404", "a part of CEL that is not in this build",
     "The expression is right, but this build cannot evaluate it.",
     START_A "  a: {type: router, routes: [{when: \"input.?x > 1\", to: END}], "
             "default: "
             "END}\n"},
    {"E0405", "a template in a key",
     "Keys are taken as they stand; only values may hold ${...}.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {\"${input.key}\": 1}, next: "
     "END}\n"},
    {"E0411", "an artifact that nothing ever sets",
     "No node writes it with outputs, output_as or output_mapping, and no map "
     "leaves it, so it is absent whatever happens.  What only people (an "
     "update) or plugins set is named by the schema, state.artifacts.  The "
     "same "
     "of scratch, by which people mend runs, is a warning (W0417).",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, output_as: summary,"
     " next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.sumary.lines[0]}\"}, next: END}\n"},
    {"E0412", "a member that is never there",
     "The artifact is the output of a node, and its schema rules the member "
     "out: that of its operation, of the node (output_schema), or of what the "
     "language itself gives, such as a decision.",
     START_A
     "  a: {type: human, prompt: Go on?, next: b}\n"
     "  b: {type: router, routes: [{when: artifacts.a.aproved, to: END}], "
     "default: END}\n"},
    {"E0413", "an artifact that is set too late",
     "Nodes write it, but none of them ever runs before the one that reads it: "
     "no way of edges leads from there to here, loops included.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.b.lines[0]}\"}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},

    {"E0414", "an artifact of a map's element that is read outside of it",
     "What nodes in the body of a map write to the artifacts is each element's "
     "own: later nodes of the element see it, and it is gone at the join.  "
     "Behind "
     "the join, artifacts.TO.results has what each element came to, and a path "
     "with a declared reducer is the run's.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, map: {over: "
     "output.lines, to: b, join: c}}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: d}\n"
     "  d: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.b.lines[0]}\"}, next: c}\n"
     "  c: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.d.lines[0]}\"}, next: END}\n"},

    {"E0450", "a memory that is not there",
     "A memory_policy reads and writes what the deployment's `memory` names: a "
     "plugin that is installed and trusted, not quarantined, and provides "
     "memory.  The words say what is missing.",
     "# mortise.yaml beside the graph has no\n"
     "#     memory: {plugin: NAME}\n"
     "# and the graph\n"
     "#     a: {..., memory_policy: {write: {auto_encode: true}}}\n"},
    {"E0451", "a snapshot of a memory that keeps none",
     "A node with the consistency `snapshot`, which is the default, reads what "
     "there was when its run started.  The manifest of the memory says whether "
     "it can do that (as_of).",
     "# the deployment's memory has no `as_of: true`, and the graph\n"
     "#     a: {..., memory_policy: {read: {}}}   # consistency: live\n"},
    {"E0452", "a conversation that the node has not",
     "Traces of the scope `conversation` belong to the conversation that the "
     "node goes on with, by its key `conversation`.",
     "# a: {type: gmi, prompt: hi, conversation: chat,\n"
     "#     memory_policy: {read: {scope: conversation}}, ...}\n"},
    {"E0453", "nobody to discover with",
     "A discovery_policy asks the plugins of the deployment's `discovery`, "
     "which must be installed and trusted, not quarantined, and provide "
     "discovery.  The words say what is missing.",
     "# mortise.yaml beside the graph has no\n"
     "#     discovery: {plugins: [NAME]}\n"
     "# and the graph\n"
     "#     a: {type: gmi, discovery_policy: {query: \"${input.text}\"}, "
     "...}\n"},

    {"E0501", "an operation that is not there",
     "No manifest on plugins.path offers this operation, or the plugin that "
     "does cannot be used: nobody who is trusted signed it, it is revoked, "
     "quarantined or broken.  The words say which, and what to do.",
     START_A "  a: {type: tool, tool: text/lnies, next: END}\n"},
    {"E0502", "a guardrail that is not there",
     "A guardrail that is named must be installed and trusted, not quarantined "
     "and no other kind of plugin: a run would have to choose between "
     "unprotected and stuck.",
     START_A "  a: {type: guardrail, guardrails: [patern], next: END}\n"},
    {"E0503", "arguments that the operation refuses",
     "The arguments break the operation's input_schema.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {test: hi}, next: END}   # "
     "text\n"},
    {"E0504", "an effect class weaker than the operation's",
     "What an operation does is the plugin's to say; a graph may only be "
     "stricter.",
     START_A
     "  a: {type: tool, tool: file/write, effect_class: pure, next: END}\n"},
    {"E0505", "a tool that is no operation",
     "A tool is PLUGIN/OPERATION, such as file/write.  The lists of `tools` in "
     "a deployment name operations, also for graphs that are tools "
     "(graph/NAME): those are judged by the operations in them.",
     START_A "  a: {type: tool, tool: lines, next: END}   # text/lines\n"},
    {"E0506", "reconcile without reconcile",
     "on_in_doubt: reconcile asks the plugin whether the effect happened; "
     "this operation cannot tell.",
     START_A
     "  a: {type: tool, tool: text/lines, on_in_doubt: reconcile, next: "
     "END}\n"},

    {"E0507", "a tool that the deployment denies",
     "The deployment's tools.deny fits it, or its tools.allow does not.",
     "# mortise.yaml beside the graph says\n"
     "#     tools: {deny: [file/write]}\n"
     "# and the graph\n"
     "#     a: {type: tool, tool: file/write}\n"},

    {"E0508", "a limit beyond the deployment's",
     "What a deployment's limits say is the default of graphs and the most "
     "that they may say.",
     "# mortise.yaml beside the graph says\n"
     "#     limits: {steps: 100}\n"
     "# and the graph\n"
     "#     limits: {steps: 500}\n"},

    {"E0509", "a resource of a node that does not write",
     "Nodes of class write and external with the same resource do not run "
     "beside each other; those of other classes run beside anything.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: x}, resource: disk, "
     "next: END}\n"},

    {"E0510", "a role that is not there",
     "A role is described under `roles`, or is one of researcher, red-team, "
     "fact-checker, writer, editor, critic and synthesizer.",
     START_A "  a: {type: leaf, goal: sum it up, role: writr, next: END}\n"},

    {"E0511", "a model whose provider cannot be used",
     "An alias of a deployment's models names the plugin that is the way to "
     "it.  That must be installed and trusted, not quarantined, and provide "
     "models; the words say what it lacks.",
     "# mortise.yaml says\n"
     "#     models: {default: {provider: pattern, model: small}}\n"
     "# and pattern is a guardrail\n"},

    {"E0512", "a cache of what is not pure",
     "cache: true takes what an operation gave before for what it would give "
     "now. That holds for those of class pure alone: by the operation's own "
     "word, with nothing stricter said by the node or by defaults.",
     START_A
     "  a: {type: tool, tool: file/read, args: {path: x}, cache: true, next: "
     "END}\n"},

    {"E0513", "a model that is not there, or cannot be asked",
     "llm.provider_id and llm.fallback name aliases of the deployment's "
     "models; "
     "`default` is meant where none is said, as by 'mortise plan' and 'mortise "
     "chat' without --model.  Write it under `models` of the deployment, as in "
     "'default: {provider: openai, base_url: URL, model: NAME}' "
     "(docs/models.md).  The provider of an alias must be "
     "one that can be used (E0511).  In a deployment, what a plugin's config "
     "names is one, too, where its config_schema says x-model: true, and so is "
     "the `default` there of a config that names none.",
     START_A
     "  a: {type: gmi, prompt: hi, llm: {provider_id: smal}, next: END}\n"},

    {"E0514", "a tool that is not there",
     "tool_allowlist names the tools of a node: operations that are installed, "
     "by name or with * for any characters, and graphs. An entry that fits "
     "none "
     "is a mistake, since the node would silently have fewer tools than it "
     "says; so is a tool_choice that is not among them.",
     START_A
     "  a: {type: gmi, prompt: hi, tool_allowlist: [txt/*], next: END}\n"},

    {"E0515", "a group that cannot share the store",
     "store.access.group names a group of this machine, whose members may use "
     "the store's socket. It must be there, and whoever reads the deployment "
     "must be in it, or be root: the engine, which gives its socket to the "
     "group, and those who use it.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "store:\n"
     "  access: {group: no-such-group}\n"},

    {"E0517", "a memory that cannot be used",
     "memory.plugin of a deployment names the plugin that keeps traces.  That "
     "must be installed and trusted, not quarantined, and provide memory; the "
     "words say what it lacks.",
     "# mortise.yaml says\n"
     "#     memory: {plugin: pattern}\n"
     "# and pattern is a guardrail\n"},

    {"E0518", "a discovery plugin that cannot be used",
     "What discovery.plugins names is a plugin of the kind discovery that is "
     "installed, trusted and configured, here ({plugin, config}) or by "
     "plugins.config.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "discovery: {plugins: [catalgo]}   # did you mean catalog?\n"},

    {"E0520", "a compaction that changes the world",
     "What is told of an output (`compaction`) is made of it by an operation "
     "that is pure or read: it is made again after a crash, and nobody is "
     "asked about it.",
     START_A
     "  a: {type: leaf, goal: sum it up, compaction: file/write, next: END}\n"},

    {"E0601", "an unset environment variable",
     "${env:NAME} fails when NAME is not set; ${env:NAME:-default} has a "
     "default.",
     "kind: Deployment\n"
     "store: {path: \"${env:NO_SUCH_VARIABLE}\"}   # or "
     "${env:NAME:-./state}\n"},
    {"E0602", "a file of ${file:...} that cannot be read",
     "The path is relative to the deployment file; the content is UTF-8 of at "
     "most 1 MiB.",
     "kind: Deployment\n"
     "store: {path: \"${file:no-such-file}\"}\n"},
    {"E0603", "a broken ${...}",
     "In a deployment ${...} is ${env:NAME}, ${env:NAME:-default} or "
     "${file:PATH}.  A literal ${ is written $${.",
     "kind: Deployment\n"
     "store: {path: \"${state}\"}\n"},

    {"E0604", "a reference to a secret in the wrong place",
     "secret://NAME may stand where a schema of the plugin marks x-secret, "
     "alone or at the end behind a blank (\"Bearer secret://NAME\"), and not "
     "beside ${...}.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: \"secret://key\"}, "
     "next: END}\n"},
    {"E0605", "a secret that cannot be had",
     "The deployment's `secrets` names no such secret, or does not grant it to "
     "the plugin.  A graph that a model wrote (`mortise plan`), or a plugin, "
     "is "
     "granted none.",
     START_A "  a:\n"
             "    type: tool\n"
             "    tool: http/get\n"
             "    args: {url: \"http://h\", headers: {Authorization: \"Bearer "
             "secret://nokey\"}}\n"
             "    next: END\n"},
    {"E0606", "a secret without a provider",
     "A secret has one of env: VARIABLE, file: PATH, exec: [PROGRAM, ...] and "
     "systemd-creds: NAME, and a name of letters, digits, dots, _ and -.",
     "kind: Deployment\n"
     "secrets: {key: {}}\n"},

    {"E0607", "a config that the plugin refuses",
     "A plugin's config_schema says what `plugins.config` and `guardrails` may "
     "give it (`mortise plugin inspect NAME`).  Where it requires something, a "
     "graph that uses the plugin needs a deployment with that.",
     "kind: Deployment\n"
     "plugins: {config: {pattern: {builtin: [mail]}}}   # email\n"},

    {"E0608", "a plugin that does not come up",
     "`mortise check --plugins` runs create() of each plugin that a graph "
     "uses, or that a deployment configures: as a guardrail, memory, discovery "
     "plugin or model, in plugins.config, tools.mcp or executors.  It gets the "
     "deployment's config and secrets.  This one refused, crashed or did not "
     "return; a run would fail where it needs it.",
     "# plugins: {config: {file: {roots: [/does/not/exist]}}}\n"
     "# $ mortise check --plugins mortise.yaml\n"},

    {"E0609", "a program that may write what it should not",
     "`reads: true` of a deployment's program is somebody's word that it "
     "changes "
     "nothing, whatever its arguments are; then it has no `write`.  And no "
     "`write` of any comes to the deployment, its lock, its store, its plugins "
     "or whom it trusts: a program would say itself what it may do.",
     "kind: Deployment\n"
     "programs: {jq: {path: /usr/bin/jq, reads: true, write: [./out]}}\n"},

    {"E0610", "an MCP server that is none",
     "A server of `tools.mcp` has one of `command`, a program that is started "
     "here, and `url`, where it is: of https, or of http on this machine.  A "
     "program's network is all or nothing: `net: []` or `net: [\"*\"]`.  Its "
     "`write` comes to nothing of the deployment's own: the file, its lock, "
     "its store, its plugins, whom it trusts.  Its `sampling` names one of the "
     "`models`.",
     "kind: Deployment\n"
     "tools: {mcp: {files: {url: \"http://mcp.example.com\"}}}   # https\n"},

    {"E0611", "a config that is written elsewhere",
     "What the plugin `mcp` is told is what `tools.mcp` says, and the lock; "
     "`plugins.config` has nothing for it.",
     "kind: Deployment\n"
     "plugins: {config: {mcp: {}}}   # tools: {mcp: {...}}\n"},
    {"E0612", "a broken lock",
     "mortise.lock is written by `mortise mcp pin` and `mortise discovery "
     "pin`, "
     "and lies beside the deployment.  It was changed by hand, or by a merge: "
     "take one side whole, "
     "and pin again.",
     "# mortise.lock\n"
     "# {\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", \"mcp\": "
     "{\"files\": "
     "{\"tools\":\n"
     "#   {\"read\": {\"digest\": \"abc\", \"input_schema\": {}}}}}}\n"},
    {"E0616", "a user that programs cannot run as",
     "`user` of a program, or of a server's sandbox, names an ordinary user of "
     "this machine.  Root starts programs as any of them; nobody else starts "
     "one as somebody else.",
     "kind: Deployment\n"
     "programs: {jq: {path: /usr/bin/jq, user: root}}\n"},

    {"E0701", "an operation's name that is none",
     "Operations are named like plugins, with 64 characters at most: graphs "
     "say PLUGIN/OPERATION.  `judged_as` of one has {ARGUMENT} in it, for "
     "arguments that its input_schema requires and that are texts.",
     "kind: Plugin\n"
     "provides: {executor: {operations: {Re fund: {effect: external}}}}\n"},
    {"E0702", "a version or range that is none",
     "Versions are one to four numbers with dots (1.4.2).  Ranges are "
     "comparisons with spaces between, which must all hold (>=1.0 <2).",
     "kind: Plugin\n"
     "metadata: {name: acme.pay, version: 1.4-beta}\n"},
    {"E0703", "artifacts that cannot be right",
     "`mortise plugin sign` writes them: one for each architecture, a file "
     "beside the manifest, with its size and its BLAKE2b-256 in hex.",
     "kind: Plugin\n"
     "artifacts: [{arch: x86_64-linux-gnu, file: ../acme_pay.so}]\n"},
    {"E0704", "a secret where nobody looks for it",
     "x-secret: true marks what properties, additionalProperties and items of "
     "a schema lead to, one below the other.",
     "kind: Plugin\n"
     "config_schema: {enum: [{x-secret: true}]}\n"},
    {"E0705", "a permission that is none",
     "net takes HOST:PORT, fs and exec absolute paths, env names of variables, "
     "state paths of the run's state; config:PATH stands for the deployment's "
     "value.",
     "kind: Plugin\n"
     "permissions: {net: [api.acme.com]}   # api.acme.com:443\n"},
    {"E0706", "an intent that cannot be",
     "intent: steps says of an operation that what it does to the world it "
     "does by asking the host (http.request/1 and so on), or in steps of its "
     "own between journal.begin/1 and journal.end/1, and nothing besides: "
     "then the plugin requires a method for it.  What is pure, or only reads, "
     "has no intent.",
     "kind: Plugin\n"
     "provides: {executor: {operations: {refund: {effect: external, intent: "
     "steps}}}}\n"},
    {"E0707", "a plugin for another host",
     "Its abi, the range of hosts that it requires, or its isolation is one "
     "that this mortise does not have, so loading would refuse it.  Build it "
     "with this host's <mortise/plugin.h>, or use a mortise that it is for.",
     "kind: Plugin\n"
     "metadata: {name: acme.pay, version: 1.4.2}\n"
     "seq: 1\n"
     "abi: {major: 2, minor: 0}   # major: 1\n"
     "provides:\n"
     "  executor: {threading: blocking, operations: {refund: {effect: "
     "external}}}\n"},
    {"E0708", "a method that such a plugin may not ask",
     "What a guardrail or a model may ask of the host is little (their headers "
     "say what), and the manifest requires more, which would be refused each "
     "time.  Take it out; or let the plugin provide an executor, too, whose "
     "operations may.",
     "kind: Plugin\n"
     "metadata: {name: acme.llm, version: 1.0.0}\n"
     "seq: 1\n"
     "abi: {major: 1, minor: 0}\n"
     "provides: {model: {threading: async}}\n"
     "requires: {methods: [http.request/1, kv.get/1]}   # http.request/1 "
     "alone\n"},
    {"E0709", "a background that cannot be",
     "`background: true` says that the plugin keeps something beside its "
     "calls, "
     "such as connections: the host enters its background() once, which stays "
     "pending.  Only async plugins can do that without a thread.",
     "kind: Plugin\n"
     "provides: {executor: {threading: blocking, background: true}}   # "
     "async\n"},
    {"E0710", "a directory that no config has",
     "`directory` of a memory names the member of its config into which the "
     "host "
     "puts where the memory keeps its files, and config_schema lets no such "
     "member in: the plugin would never come up.",
     "kind: Plugin\n"
     "metadata: {name: acme.notes, version: 1.4.2}\n"
     "seq: 1\n"
     "abi: {major: 1, minor: 0}\n"
     "provides: {memory: {threading: blocking, directory: dir}}   # "
     "directory\n"
     "config_schema: {type: object, properties: {directory: {type: string}},\n"
     "                additionalProperties: false}\n"},
    {"E0711", "a key that is none",
     "Trust files take minisign public keys, as text (RW...) or as the name of "
     "a .pub file beside them; revocations take key ids too.",
     "kind: Trust\n"
     "keys: [{key: RWnonsense, plugins: [acme.*]}]\n"},
    {"E0712", "a pattern that is none",
     "Plugins are named as they are, with * for any characters (acme.*).",
     "kind: Trust\n"
     "keys: [{key: acme.pub, plugins: [\"acme.[a-z]\"]}]\n"},
    {"E0713", "a time that is none",
     "Times are RFC 3339 in UTC, such as 2026-01-31T12:00:00Z.",
     "kind: Trust\n"
     "keys: [{key: acme.pub, plugins: [acme.*], not_before: yesterday}]\n"},
    {"E0714", "a digest that is none",
     "Digests are the BLAKE2b-256 of a manifest or an artifact: 64 hex "
     "digits.",
     "kind: Trust\n"
     "revoked: {digests: [9f0c]}\n"},

    {"E0901", "an input that the graph refuses",
     "The `input` of a case does not fit the schema of the graph's "
     "state.input: such a run is never admitted, so there is nothing to test.",
     "# graph: says state: {input: {required: [log]}}\n"
     "# cases:\n"
     "#   none: {input: {}, expect: {status: completed}}\n"},
    {"E0902", "an expectation that does not hold",
     "`mortise test` ran the case, and this is not what came out of it.  What "
     "is expected of objects is what they must have at least; lists and all "
     "other values must be the same.",
     "# expect: {state: {scratch: {label: refund}}}   # and it was 'other'\n"},
    {"E0903", "something that the case does not say",
     "The run came to a call, a question or a doubt that the case has no "
     "answer for.  Calls of operations that are not `pure` reach the world, "
     "so tests never make them unless the case says `real: [PLUGIN]`.",
     "# operations: {acme.pay/refund: {output: {id: re_1}}}   # was missing\n"},
    {"E0904", "a run that a crash changes",
     "`mortise test --crash-everywhere` killed the process at a commit and "
     "went on in a new one, and what came out is not what comes out without "
     "a crash.  Either an operation is not what its manifest says (a `read` "
     "that changes something), or it is a bug of Mortise's: please report "
     "it.",
     "# mortise test --crash-everywhere refund.test.yaml\n"},
    {"E1001", "a foreign file that cannot be imported",
     "The file is of no shape that `mortise graph import` or `mortise config "
     "import` knows, or it contradicts itself: an edge to a node that is none, "
     "two nodes with one id, an executorConfig of another type than its node, "
     "a server with neither a command nor a URL.  Nothing is written.",
     "# {\"id\": \"g\", \"nodes\": [], \"edges\": [{\"source\": \"a\", "
     "\"target\": \"b\"}]}\n"},
    {"E1101", "a node that is not steered any more",
     "A diff changes a node of a running graph, or takes it out, and that has "
     "begun, has ended or was skipped; or it stands in a team that is over.  "
     "What has begun stays as it is.  Change what comes behind it: a node more "
     "may depend on it, and is told what it came to.",
     "# - set_role: {id: draft, role: critic}   # draft has begun\n"},
    {"E1102", "operations that contradict each other",
     "Two operations of one diff say the same of one node, or one takes out "
     "what the other speaks of.  Which of them is meant nobody can say: say it "
     "once.  A node that is removed and then added is another one, and may "
     "be.",
     "# - set_role: {id: draft, role: critic}\n"
     "# - remove: draft\n"},
    {"E1103", "a node that others depend on",
     "A diff removes a node, and another one depends on it still.  Reroute "
     "that one in the same diff, or remove it, too.",
     "# - remove: draft\n"
     "# - reroute: {id: check, depends_on: []}   # it depended on draft\n"},
    {"E1104", "a place where nothing can be steered",
     "The path of an operation leads into a node that has no task graph which "
     "stands in it, as a team has; or nodes that are to be one team's do not "
     "stand in one graph.",
     "# - remove: draft/intro   # draft is a leaf\n"},
    {"E1105", "an id that is taken",
     "A diff adds a node under an id that another one has.  To put another "
     "node in its place, remove that first, or split it.",
     "# - add: {id: draft, node: {goal: write it}}   # there is a draft\n"},
    {"E1106", "a diff that is none",
     "A diff is a list of operations, and an operation a mapping with one key: "
     "add, remove, split, reroute, set_role, set_tools or wrap.  It has 256 of "
     "them at most.",
     "# - {remove: draft, add: {id: sketch, node: {goal: draw it}}}   # two\n"},
    {"W0215", "a JSON Schema keyword that means nothing",
     "Draft 2020-12 has no such keyword, so it stands there as a remark and "
     "nothing is checked by it.  Names that begin with x- are yours.",
     "state: {input: {properties: {name: {maxLenght: 8}}}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0216", "a pattern that is not JSON Schema's",
     "A manifest's `pattern` is a regular expression of ECMA-262, as JSON "
     "Schema "
     "says.  This one is not: it is taken as PCRE2's, so that a signed plugin "
     "still works.  Other validators, and whoever "
     "reads the schema to call the operation, take it for something else or "
     "for nothing.",
     "# in pay.plugin.yaml: input: {properties: {id: {type: string, pattern: "
     "'(?i)^[a-f]++$'}}}\n"},
    {"W0218", "a required member that the schema lists otherwise",
     "`required` names a member that is none of `properties`, and one of those "
     "is spelled much like it: no value with that one alone fits.",
     "state: {input: {properties: {name: {type: string}}, required: "
     "[nmae]}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0414", "a member that no schema lists",
     "The schema lists members, and this one is none of them; it lets others "
     "in, so it may be right.  Of an output any such member is a finding; of "
     "the state one that is a listed one but for a slip of the finger, or "
     "that no node writes where others are written.  If it is meant, list it: "
     "in the schema of the state, or in an output_schema of the node.",
     START_A "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
             "{scratch.n: output.totl}, next: END}\n"},
    {"W0415", "a name that is read before it is set",
     "None of the nodes that write it ever runs before the one that reads it: "
     "no way of edges leads from there to here, loops included.  People may "
     "have set it by then, as it is in scratch or the schema names it; nobody "
     "else has.",
     "state: {artifacts: {properties: {b: {type: object}}}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.b.lines[0]}\"}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0416", "a name that a template's values lack",
     "The operation fills a text with values, as text/template does, and this "
     "name in the text is none of them: it says so as x-template in its "
     "input_schema.  A {{name}} without a value fails the node; a section of "
     "one is left out, whatever happens.",
     "start: a\nnodes:\n"
     "  a:\n"
     "    type: tool\n"
     "    tool: text/template\n"
     "    args: {template: \"{{naem}}\", values: {name: x}}\n"
     "    next: END\n"},
    {"W0417", "a name that no node sets",
     "No node writes this path, so it is absent unless people (an update) or "
     "plugins set it.  If that is meant, name it in the schema, state.scratch.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.text: \"output.lines[0]\"}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: \"${scratch.txet}\"}, "
     "next: END}\n"},
    {"W0453", "a discovery edge for which nobody is asked",
     "A discovery edge asks the plugins of the deployment's `discovery`.  "
     "Where there is none, or one of them cannot be used, nothing is found, "
     "and each run takes the fallback.  The words say what is missing.",
     "# mortise.yaml beside the graph has no\n"
     "#     discovery: {plugins: [NAME]}\n"
     "# edges:\n"
     "#   - {from: a, discovery: {query: \"${output.text}\", fallback: b}}\n"},
    {"W0801", "two nodes write the same path",
     "Neither of the two runs after the other, so which value stays would be "
     "chance; a run in which both write fails.  Give the path a reducer, last "
     "included, under state.reducers.",
     "start: [a, b]\n"
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.n: output.total}, next: END}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.n: output.total}, next: END}\n"},
    {"W0802", "a reducer that nothing uses",
     "No node writes this path with outputs or output_as.",
     "state: {reducers: {scratch.list: concat}}   # nobody writes "
     "scratch.list\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0803", "an edge that stands twice",
     "The same edge was declared before; it counts once.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"
     "edges: [{from: a, to: END}]   # as next: END said\n"},
    {"W0804", "a loop that nothing leads out of",
     "Whatever its nodes choose, each visit takes an edge back: limits.visits "
     "will pause the run.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: a}\n"},
    {"W0805", "a list that grows without bound",
     "Each round of the loop appends, and the whole list is carried along: say "
     "how long it may become.",
     "state: {reducers: {scratch.list: concat}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.list: output.lines}, routes: [{when: node.visit < 3, to: a}], "
     "default: END}\n"},
    {"W0806", "an effect that a crash leaves in doubt",
     "The operation changes the world, is not idempotent and cannot be asked "
     "whether it was done.  When the machine stops between its intent and its "
     "answer, or a connection is lost behind its request, on_in_doubt says "
     "what "
     "is done: ask (a person decides; so it is when nothing is said), retry "
     "(it "
     "may be done twice) or fail.  What is recorded before an effect is said "
     "by "
     "the operation's `intent` (mortise plugin inspect): of a call, or of each "
     "step that asks the host for one.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, effect_class: "
     "external, next: END}\n"},
    {"W0807", "a quorum that cannot be reached",
     "Of the edges that lead to the join too many exclude each other, such as "
     "two routes of one router.",
     "start: r\n"
     "nodes:\n"
     "  r: {type: router, routes: [{when: input.ok == true, to: a}], default: "
     "b}\n"
     "  a: {type: human, prompt: x, next: c}\n"
     "  b: {type: human, prompt: x, next: c}\n"
     "  c: {type: human, prompt: x, join: {quorum: 2}, next: END}\n"},
    {"W0808", "a plugin that is not there",
     "`plugins.config` and `plugins.isolation` may speak of plugins that are "
     "not installed, and what they say then holds for nobody: look whether the "
     "name is misspelt (`mortise plugin list`).",
     "# mortise check mortise.yaml\n"
     "kind: Deployment\n"
     "plugins: {config: {fiel: {roots: [./data]}}}   # file\n"},
    {"W0809", "an effect that may happen twice",
     "on_in_doubt: retry has an effect done again of which nobody knows "
     "whether "
     "it happened: after a crash, a lost connection, a timeout.  The operation "
     "does not say that twice is once (idempotent).",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, effect_class: "
     "external, on_in_doubt: retry, next: END}\n"},
    {"W0812", "an answer that its schema refuses",
     "A decision always has an `answer`, and where nobody gave one it is null: "
     "with `on_timeout: accept` the run goes on as after an acceptance, though "
     "`schema` says that there is more.  Let the schema take null, and look at "
     "what reads `output.answer` or the artifact; or reject, or go elsewhere.",
     START_A
     "  a: {type: human, prompt: How much?, wait: 1h, on_timeout: accept,\n"
     "      schema: {type: integer}, next: END}   # {type: [integer, "
     "'null']}\n"},
    {"W0813", "a retry of what is never retried",
     "The engine's own permanent errors are never retried: `schema`, "
     "`expression`, `guardrail` and others.  (A permanent error that an "
     "operation reports is, if retry_on has its code: `http.404`, "
     "`exec.exit`.)  "
     "Nobody knows whether a call in "
     "doubt happened, so a retry_policy never repeats it: its plugin, "
     "`on_in_doubt` or a person settles it first.",
     START_A
     "  a: {type: tool, tool: http/request, args: {url: \"${input.url}\"},\n"
     "      retry_policy: {max_attempts: 3, retry_on: [in_doubt]}, next: "
     "END}\n"},
    {"W0814", "a class or code of errors that is probably misspelt",
     "retry_on lists classes of errors (transient, timeout), and codes; "
     "`mortise explain CODE` knows those of Mortise and its plugins.  A plugin "
     "may have more of its own, so this is a warning; but a word that is one "
     "of "
     "them but for a letter has nothing tried again.",
     START_A
     "  a: {type: tool, tool: http/request, args: {url: \"${input.url}\"},\n"
     "      retry_policy: {max_attempts: 3, retry_on: [transiant]}, next: "
     "END}\n"},
    {"W0820", "a deployment that is not obeyed yet",
     "A mortise.yaml that was found beside a graph or in the working "
     "directory, "
     "and that nobody named, may not say which code runs (`plugins.path`, "
     "`plugins.dev`, `trust`, `programs`, `tools.mcp`), read `secrets`, the "
     "environment or a file (`${env:...}`, `${file:...}`), nor name an address "
     "or a place outside of its directory, until its user has said so once: "
     "read it, then `mortise config allow "
     "FILE`.  No deployment is obeyed while somebody else than root or its "
     "user "
     "owns it or what it names, or while others may write there.  Where "
     "something would run, this is an error.",
     "# mortise check graph.yaml, beside this mortise.yaml\n"
     "# plugins: {dev: [.]}   code that nobody signed\n"},
    {"W0821", "a secret that is not masked",
     "Where a server or a plugin says a secret again, \"[secret NAME]\" stands "
     "instead.  One of less than eight bytes is not looked for, since it would "
     "be found everywhere: give it a longer value.",
     "# export PIN=1234\n"
     "# secrets: {pin: {env: PIN}}\n"},
    {"W0822", "a permission that nothing grants",
     "`config:PATH` stands for what the deployment's config of the plugin has "
     "there, and config_schema has no such property: it comes to nothing.",
     "kind: Plugin\n"
     "metadata: {name: acme.pay, version: 1.4.2}\n"
     "seq: 1\n"
     "abi: {major: 1, minor: 0}\n"
     "provides:\n"
     "  executor: {threading: blocking, operations: {refund: {effect: "
     "external}}}\n"
     "permissions: {net: [config:urll]}   # config:url\n"
     "config_schema: {type: object, properties: {url: {type: string}}}\n"},
    {"W0823", "something that is not there",
     "The deployment names a directory, a variable or a file that does not "
     "exist here now.  What is looked for in it will not be found.",
     "# mortise check mortise.yaml\n"
     "kind: Deployment\n"
     "plugins: {path: [./plugin]}   # ./plugins\n"},
    {"W0824", "a pin that holds for nothing",
     "mortise.lock pins the tools of a server that `tools.mcp` does not have, "
     "or a tool whose schema is none: it cannot be called.  Look whether the "
     "name is misspelt, or take the pin out: `mortise mcp pin NAME`.",
     "# tools: {mcp: {file: {command: [node, files.js]}}}\n"
     "# and mortise.lock beside it pins the server 'files'\n"},
    {"W0825", "a pattern of tools that fits nothing",
     "tools.allow, ask and deny of a deployment hold patterns of operations, "
     "and "
     "this one fits none of any plugin that is found: a `deny` that is "
     "misspelt denies nothing.  Tools of MCP servers are judged by "
     "tools.mcp and the lock, where those say which there are.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "tools: {deny: [file/wirte]}   # file/write\n"},
    {"W0826", "something that changes nothing",
     "It stands there without an effect: a guardrail that its list has "
     "already, "
     "a trait that no personality edge asks for where no gmi node is told of "
     "it, a persona without a word, memory_consistency in a graph without a "
     "memory_policy, discovery among the tools of a node that has none, "
     "`default` in a schema, `end: first` without an edge to END.  Take "
     "it away, or look what was meant.",
     START_A
     "  a: {type: guardrail, guardrails: [pattern, pattern], next: END}\n"},
    {"W0828", "a way around the policy of tools",
     "tools.allow, ask, deny and pins judge operations.  This plugin's config "
     "lets it make requests to the host of an MCP server, where the tool that "
     "is called stands in the body, which nothing of that sees.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "plugins: {config: {http: {allow: [mcp.example.com:443]}}}\n"
     "tools: {mcp: {shop: {url: \"https://mcp.example.com/mcp\"}}}\n"},
    {"W0830", "a template in a key that takes none",
     "Some keys take templates: prompt, goal, args, instructions and others "
     "that mortise-graph(5) calls so.  In any other key ${...} is not "
     "evaluated.  It stays as it is written.",
     START_A
     "  a: {type: human, prompt: Well?, assignees: [\"${input.who}\"], next: "
     "END}\n"},
    {"W0904", "an answer that is refused",
     "A case scripts an output that the schema of the operation, or of the "
     "node, refuses: the node fails of it; or it has a person answer what the "
     "schema of the question refuses, or approve a call with arguments that it "
     "does not take: the case fails there.  A name is misspelt, a member is "
     "missing, or it is a case about just that.",
     "# cases:\n"
     "#   one: {operations: {file/read: {output: {path: a, contnet: b}}}}\n"},
    {"W0905", "an expectation that can never hold",
     "No node of the graph writes this member of the state, and no schema of "
     "it lists it; or the output that an artifact is has no such member, or an "
     "event of that type.",
     "# cases:\n"
     "#   one: {expect: {state: {artifacts: {reprot: done}}}}   # report\n"},
    {"W1001", "something that an import leaves behind",
     "A field of the foreign file has no like here, or its meaning cannot be "
     "carried over, as that of a condition that is a function, or of a server "
     "that is spoken with as this build does not.  Where what is "
     "missing decides what runs, the new file lacks it, and `mortise check` "
     "refuses the file there until it is written.",
     "# \"condition\": {\"type\": \"function\"}   write it as CEL: when: "
     "scratch.score > 0.8\n"},
    {"W1002", "an id that an import changes",
     "An id is a letter or '_', then letters, digits, '_' and '-', 64 at most; "
     "START and END are no ids.  Whatever named the node by its old id in the "
     "file names it by the new one; look for it in prompts and in what reads "
     "the artifacts.  The name of an MCP server is a small letter, then small "
     "letters, digits, '_' and '-'; graphs call its tools by that.",
     "# \"first step\" is called first_step\n"},
    {"W1003", "a server that could not start here",
     "Its command fetches what it runs (npx, uvx) or asks a daemon of the "
     "machine (docker), and the server is left behind.  A program of a "
     "deployment runs what is installed, in a sandbox that reaches neither.  "
     "Install it, and import the list again (npx) or name what is installed.  "
     "Or it is on another machine, and its URL is of http: what is said there "
     "others read and change, so that only https is spoken.",
     "# tools: {mcp: {files: {command: [npx, -y, \"@acme/files\", ./data]}}}\n"
     "# command: [node, ./node_modules/@acme/files/index.js, ./data]\n"},
    {"W1004", "a secret where others see it",
     "An argument or a URL of an imported server seems to be one.  The value "
     "was not taken over: a variable of the environment stands in its place, "
     "which is put in when the deployment is read.  Others on the machine see "
     "with what a program was started, and URLs are logged, so better give it "
     "as one of `env` or `headers`, by a reference.",
     "# tools: {mcp: {shop: {command: [./shop], env: {SHOP_KEY: "
     "\"secret://shop\"}}}}\n"},
    {"W1005", "more than an imported server should read",
     "An argument names all of the machine, a home, /etc or what keys are in.  "
     "There a program may do all that its user may; here it reads what its "
     "sandbox says, and that was not put into it.  Name the directory in it "
     "that is meant.",
     "# tools: {mcp: {files: {command: [./files, ./notes],\n"
     "#                       sandbox: {fs: {read: [./notes]}}}}}\n"},
};

const size_t mortise_n_codes = sizeof mortise_codes / sizeof mortise_codes[0];

const struct mortise_code *mortise_code(const char *code)
{
    for (size_t i = 0; i < mortise_n_codes; i++)
        if (strcmp(mortise_codes[i].code, code) == 0)
            return &mortise_codes[i];
    return NULL;
}
