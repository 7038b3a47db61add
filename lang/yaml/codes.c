/* codes.c -- all codes of findings, with their explanations.
 *
 * There is one table, so that documentation, tests and the program cannot
 * disagree.  A code may be reported with different messages, and the
 * explanation applies to all of them. */
#include "lang/yaml/codes.h"

#include <string.h>

/* The beginning of most examples. */
#define START_A "start: a\nnodes:\n"

const struct mortise_code mortise_codes[] = {
    {"E0101", "a file cannot be read",
     "The file does not exist, is a directory, or cannot be read by the user "
     "who runs Mortise.",
     "# mortise check no-such-file.yaml\n"},
    {"E0102", "a file is too large",
     "A file can have at most 16 MiB.  The manifest of a plugin can have at "
     "most 1 MiB.",
     "# A file of 17 MiB.  Put long texts into files that a node reads.\n"},
    {"E0103", "a file is empty",
     "The file contains only white space and comments.",
     "# nothing but this comment\n"},
    {"E0104", "a character that is not allowed in a file",
     "Files are UTF-8.  They must not contain NUL bytes, the line breaks "
     "U+0085, U+2028 and U+2029, or control characters other than tab and line "
     "ends.  Inside double quotes you can write every character as \\uXXXX.",
     "name: \"write \\u0007, not the character itself\" # \a\n"},
    {"E0105", "a byte order mark",
     "The file begins with a byte order mark.  Save the file as UTF-8 without "
     "this mark.",
     "# The editor's \"UTF-8 with BOM\" is the wrong choice; \"UTF-8\" is "
     "right.\n"},
    {"E0106", "broken YAML",
     "The text does not follow YAML's grammar.  Often a value needs quotes, or "
     "the indentation of a line is wrong.",
     "goal: summarize: the log   # quote it: \"summarize: the log\"\n"},
    {"E0107", "a tab as indentation",
     "YAML does not allow tabs as indentation.  Use spaces.",
     "nodes:\n"
     "\ta: {type: tool}\n"},
    {"E0108", "a key appears twice in one mapping",
     "Mortise cannot know which of the two values you mean.  Remove one of the "
     "two entries.",
     "goal: count\n"
     "goal: count again\n"},
    {"E0109", "a key that is not a string",
     "Every key must be a string.  Quote a key such as 1, true or null.",
     "nodes:\n"
     "  1: {type: tool, tool: text/lines}\n"},
    {"E0110", "a merge key",
     "YAML 1.2 has no merge keys (<<).  Write the keys of the merged mapping "
     "out, or use an alias for each value.",
     START_A "  a: {<<: {type: tool}, tool: text/lines, next: END}\n"},
    {"E0111", "a tag or directive",
     "Tags (!name, !!str) and directives other than %YAML 1.2 are not allowed. "
     " The spelling of a value decides its type: 12 is a number, \"12\" is a "
     "string.",
     "goal: !!str 12   # write \"12\"\n"},
    {"E0112", "more than one document",
     "A file can contain only one document.  Put each document into a file of "
     "its own.",
     "goal: one\n"
     "---\n"
     "goal: two\n"},
    {"E0113", "nested too deep",
     "Lists and mappings can be nested at most 64 levels deep.",
     "x-deep: "
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]"
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"},
    {"E0114", "aliases exceed a limit",
     "The aliases of a file can add at most 100,000 YAML values in total, and "
     "a file can have at most 1,000 anchors.  A value that an alias inserts "
     "counts towards the nesting limit of 64 levels.",
     "x-a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
     "x-b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
     "x-c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
     "x-d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
     "x-e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"},
    {"E0115", "an alias without an anchor",
     "An alias (*name) needs an anchor (&name) earlier in the file.  An alias "
     "cannot refer to a value that contains the alias.",
     "goal: *there   # &there comes before\n"},
    {"E0116", "a number out of range",
     "An integer must fit into 64 bits with a sign, and a number must be "
     "finite.  Quote the value if you mean a string.",
     "limits: {nodes: 99999999999999999999}\n"},

    {"E0201", "an unknown key",
     "No key of this name is allowed here.  Mortise ignores keys that begin "
     "with x-, so you can use them for your own data.",
     "stat: a   # start\n"},
    {"E0202", "a key that this build does not support",
     "The key is part of mortise/v1, but this build does not implement it.  "
     "Mortise rejects the file instead of ignoring the key.  Remove the key, "
     "or use a version of Mortise that implements the key.",
     "kind: Deployment\nstore: {retention: {keep_last: 3}}\n"},
    {"E0203", "a value of the wrong type",
     "The key needs a value of another type.  Write durations and sizes with a "
     "unit (30s, 64KiB).  Quote a string that looks like a number.",
     START_A
     "  a: {type: tool, tool: text/lines, timeout: 30, next: END}   # 30s\n"},
    {"E0204", "a key of another node type",
     "Only nodes of other types have this key.  Remove the key, or change the "
     "type of the node.",
     START_A
     "  a: {type: tool, tool: text/lines, prompt: Go on?, next: END}\n"},
    {"E0205", "a value that this build does not support",
     "The value is part of mortise/v1, but this build does not implement it.  "
     "Mortise rejects the file instead of ignoring the value.  Use another "
     "value, or a version of Mortise that implements this value.",
     "state: {scratch: {$schema: 'http://json-schema.org/draft-07/schema#'}}"
     "\n"},
    {"E0206", "a missing key",
     "A required key is missing.  The message names the key.",
     START_A "  a: {type: tool, next: END}   # which tool?\n"},
    {"E0207", "an unknown word",
     "The key accepts only certain words.  Use a word that the message lists.",
     START_A "  a: {type: tol, tool: text/lines, next: END}\n"},
    {"E0208", "a value out of bounds",
     "The value has the right type, but it is too small, too large or empty.  "
     "The message says what is allowed.",
     "limits: {concurrency: 0}\n"},
    {"E0209", "a broken JSON Schema",
     "Schemas follow JSON Schema, draft 2020-12.  A `$ref` must stay inside "
     "the schema, because Mortise fetches no other schema.  `format` is "
     "documentation only: Mortise does not check it.  `pattern` is a regular "
     "expression of ECMA-262.",
     "state: {input: {type: strnig}}\n"},
    {"E0210", "another kind of file",
     "A file must have the keys `apiVersion: mortise/v1` and `kind`.  `kind` "
     "must be the kind of file that is expected here.",
     "apiVersion: mortise/v1\n"
     "kind: Grahp\n"},
    {"E0211", "an invalid name",
     "Node ids and artifact names begin with a letter or _, followed by at "
     "most 63 letters, digits, _ and -.  An error code begins with a lowercase "
     "letter, followed by at most 63 lowercase letters, digits, _ and dots.  "
     "The error codes determinism, guardrail, in_doubt and rejected are "
     "reserved for the engine.",
     "start: 1st\n"
     "nodes:\n"
     "  1st: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"E0212", "keys that do not go together",
     "The message names the keys.  One of them requires the other, excludes "
     "the other, or has no effect without the other.",
     START_A
     "  a: {type: tool, tool: text/lines, default: END}   # default needs "
     "routes\n"},
    {"E0213", "a path that cannot be written",
     "A node can write only to paths below scratch and artifacts, such as "
     "scratch.label, artifacts.report.title or scratch[\"odd name\"].",
     START_A
     "  a: {type: tool, tool: text/lines, outputs: {input.x: output}, next: "
     "END}\n"},
    {"E0214", "a path that appears twice",
     "The same path is listed twice, perhaps in two spellings.  Remove one of "
     "the two entries.",
     "state: {reducers: {scratch.a: last, 'scratch[\"a\"]': first}}\n"},
    {"E0301", "an unknown node",
     "No node has this id.  Correct the id, or add the node.",
     START_A "  a: {type: tool, tool: text/lines, next: nowhere}\n"},
    {"E0302", "START or END in the wrong place",
     "START and END are reserved.  No edge leads to START, no edge leaves END, "
     "and no node can have these ids.",
     START_A "  a: {type: tool, tool: text/lines, next: START}\n"},
    {"E0303", "a graph without a start",
     "The graph does not declare where it starts.  Set `start` to the id of a "
     "node, or add edges from START.",
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"E0304", "a cycle of depends_on",
     "Nodes that wait for each other never start.  Remove one of the "
     "dependencies.",
     "start: c\n"
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, depends_on: b}\n"
     "  b: {type: tool, tool: text/lines, depends_on: [a, c]}\n"
     "  c: {type: tool, tool: text/lines}\n"},
    {"E0305", "a loop with several entry nodes",
     "A loop must have exactly one entry node.  Every edge that enters the "
     "loop, also from START, must lead to this node.",
     "start: [a, b]   # a loop is entered at one node\n"
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: a}\n"},
    {"E0306", "an unreachable node",
     "No path leads from START to the node, so the node can never run.  Add an "
     "edge that leads to the node, or remove the node.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: END}   # who "
     "leads here?\n"},
    {"E0307", "an edge that contradicts itself",
     "The type of an edge does not fit its keys.  A conditional edge needs a "
     "condition (`when`), and a static edge cannot have one.  An edge of type "
     "map, personality or discovery needs the key with the name of its type.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"
     "edges:\n"
     "  - {from: a, to: END, type: conditional}   # when?\n"},
    {"E0308", "a router that does not cover every case",
     "A router takes the first route whose condition is true.  Add `default` "
     "for the case that no condition is true.",
     START_A
     "  a: {type: router, routes: [{when: input.ok, to: END}]}   # default: "
     "END\n"},
    {"E0309", "an edge that bypasses the routes of a router",
     "A router takes exactly one of its routes.  Another edge that leaves the "
     "router would be taken in addition.  Make this edge a route, or remove "
     "the edge.",
     START_A
     "  a: {type: router, routes: [{when: input.ok, to: END}], default: END}\n"
     "  b: {type: tool, tool: text/lines, depends_on: a}   # a's routes choose "
     "the next node\n"},
    {"E0310", "a reroute without target, or a target without reroute",
     "`on_violation: reroute` and `reroute_target` require each other.  "
     "Guardrails that check only tool calls cannot reroute.",
     START_A
     "  a: {type: guardrail, guardrails: [pattern], on_violation: reroute, "
     "next: END}\n"},
    {"E0311", "too many nodes, or none",
     "A graph must have at least one node, and can have at most `limits.nodes` "
     "nodes.",
     "start: a\n"
     "nodes: {}\n"},
    {"E0312", "a map whose body is not closed",
     "The nodes between `to` and `join` of a map form its body, which runs "
     "once for each element.  Edges must enter the body only at `to`, and "
     "leave the body only to `join` or END.  An edge from the body to END ends "
     "only the branch of that edge.  The result of an element is the output of "
     "the node that leads to the join.",
     START_A
     "  a: {type: human, prompt: x, map: {over: input.list, to: b, join: c}}\n"
     "  b: {type: human, prompt: x, next: END}   # and what leads to c?\n"
     "  c: {type: human, prompt: x}\n"},
    {"E0313", "nested too deep",
     "Maps can be nested at most 8 levels deep, and loops and maps together at "
     "most 64 levels.  Graphs can be nested at most limits.depth levels deep.",
     "limits: {depth: 0}\n" START_A
     "  a: {type: subgraph, graph: {start: b, nodes: {b: {type: human, prompt: "
     "x}}}}\n"},
    {"E0314", "a name that hides another",
     "The name that `as` gives to an element must differ from the built-in "
     "names of expressions and from the names of surrounding maps.",
     START_A
     "  a: {type: human, prompt: x, map: {over: input.list, as: output, to: b, "
     "join: c}}\n"
     "  b: {type: human, prompt: x, next: c}\n"
     "  c: {type: human, prompt: x}\n"},
    {"E0315", "a graph that does not exist",
     "`graph` names a file or a graph.  A value that contains a '/' or ends in "
     ".yaml, .yml or .json is the path of a file, relative to the file that "
     "contains the value.  Any other value is a NAME or NAME@VERSION.  Mortise "
     "looks this name up in the metadata of the *.graph.yaml files that are in "
     "the same directory as the file with the value.",
     START_A "  a: {type: subgraph, graph: ./missing.graph.yaml}\n"},
    {"E0316", "a graph that contains itself",
     "A graph cannot contain itself, directly or through other graphs.  Use a "
     "loop of nodes to repeat something.",
     START_A "  a: {type: subgraph, graph: ./example.yaml}\n"},
    {"E0317", "a graph that differs from its pin",
     "`version` and `digest` pin the file that `graph` names.  The file no "
     "longer matches the pin.  Review the change, then update the pin.",
     "metadata: {name: example, version: 1.0.0}\n" START_A
     "  a: {type: subgraph, graph: {file: ./example.yaml, version: 2.0.0}}\n"},

    {"E0318", "guardrails where there is no value to check",
     "Guardrails of an edge check the output of the node that the edge leaves, "
     "but START and routers have no output.  Guardrails of tools check the "
     "arguments and the results of tool calls, so the node must be a gmi node "
     "with a tool_allowlist.  Guardrails of memory check the traces that a "
     "node reads or writes, so the node needs a memory_policy that reads or "
     "writes.",
     START_A "  a: {type: router, routes: [{when: input.ok, to: END, "
             "guardrail_policy: {input: [pattern]}}], default: END}\n"},
    {"E0319", "a budget that a node can exceed",
     "Before each call, the engine reserves the most that the call can use.  "
     "For an operation, this maximum is the `usage` in the manifest.  For a "
     "model, it is `max_tokens` of the node and `price` of the alias.  Here "
     "one of these values is missing, so the engine does not know how much to "
     "reserve.  Declare the missing value: `max_tokens: N` on the node, "
     "`price` on the alias in the deployment, or `usage` in the manifest.  For "
     "a budget in dollars (`usd`) you can also set `unpriced: allow`.  The "
     "engine then makes the calls without a reservation and counts the "
     "reported cost.",
     "# a plugin's manifest: ask: {effect: read, usage: {output_tokens: 500}}\n"
     "# a node that asks a model: max_tokens: 500\n"
     "# budget: {tokens: 1000}\n"
     "# and a node with tool: PLUGIN/ask, whose input_tokens are not "
     "declared\n"},

    {"E0401", "an expression that cannot work",
     "The expression is not valid CEL, uses a name, member or function that "
     "does not exist, or compares values that cannot be compared.",
     START_A
     "  a: {type: router, routes: [{when: inptu.ok, to: END}], default: "
     "END}\n"},
    {"E0402", "a template that is never closed",
     "${ begins an expression and } ends it.  Write $${ for a literal ${.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: \"${input.text\"}, "
     "next: END}\n"},
    {"E0403", "a value of the wrong type",
     "This expression never has the type that is needed here.  A condition "
     "must give true or false.  A condition of a router can also give the id "
     "of a target node.  `over` needs a list.  A value that is written to a "
     "path, or passed as an argument, must match the schema of the path or of "
     "the argument.",
     START_A
     "  a: {type: router, routes: [{when: \"'yes'\", to: END}], default: "
     "END}\n"},
    {"E0404", "a part of CEL that this build does not support",
     "The expression is valid CEL, but this build cannot evaluate a part of "
     "it.  The message names the part.  Write the expression without this "
     "part.",
     START_A "  a: {type: router, routes: [{when: \"input.?x > 1\", to: END}], "
             "default: "
             "END}\n"},
    {"E0405", "a template in a key",
     "Mortise does not evaluate templates in keys.  Only values can contain "
     "${...}.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {\"${input.key}\": 1}, next: "
     "END}\n"},
    {"E0411", "an artifact that is never set",
     "No node writes this artifact with outputs, output_as or output_mapping, "
     "and the artifact is not the result of a map.  So the artifact is always "
     "absent.  If only people (with an update) or plugins set the artifact, "
     "list it in the schema state.artifacts.  For a path in scratch, the same "
     "problem is only a warning (W0417), because people write to scratch when "
     "they repair a run.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, output_as: summary,"
     " next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.sumary.lines[0]}\"}, next: END}\n"},
    {"E0412", "a member that never exists",
     "The artifact is the output of a node, and the schema of this output "
     "excludes the member.  The schema comes from the operation, from the "
     "node's output_schema, or from Mortise (for example, the schema of a "
     "decision).",
     START_A
     "  a: {type: human, prompt: Go on?, next: b}\n"
     "  b: {type: router, routes: [{when: artifacts.a.aproved, to: END}], "
     "default: END}\n"},
    {"E0413", "an artifact that is set too late",
     "No node that writes the artifact can run before the node that reads it: "
     "no path of edges leads from a writer to the reader, not even through a "
     "loop.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.b.lines[0]}\"}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},

    {"E0414", "an artifact of a map element that is read outside the map",
     "If a node in the body of a map writes an artifact, the artifact belongs "
     "to one element.  Only later nodes of the same element can read this "
     "artifact, and the join discards it.  After the join, "
     "artifacts.TO.results lists the results of all elements.  TO is the node "
     "that `to` names.  If a reducer is declared for the path of an artifact, "
     "the artifact belongs to the run, and every later node can read it.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, map: {over: "
     "output.lines, to: b, join: c}}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: d}\n"
     "  d: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.b.lines[0]}\"}, next: c}\n"
     "  c: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.d.lines[0]}\"}, next: END}\n"},

    {"E0450", "the deployment has no usable memory",
     "A memory_policy uses the plugin that the deployment's `memory` names.  "
     "This plugin must be installed and trusted, must not be quarantined, and "
     "must provide memory.  The message names what is missing.",
     "# mortise.yaml beside the graph has no\n"
     "#     memory: {plugin: NAME}\n"
     "# and the graph\n"
     "#     a: {..., memory_policy: {write: {auto_encode: true}}}\n"},
    {"E0451", "a memory that cannot read a snapshot",
     "By default, a node reads memory with the consistency `snapshot`: the "
     "node gets only the traces (texts in the memory) that existed when the "
     "run started.  The manifest of this memory plugin does not declare "
     "`as_of`, so the plugin cannot find out which traces existed then.  Set "
     "`consistency: live`.",
     "# the deployment's memory has no `as_of: true`, and the graph\n"
     "#     a: {..., memory_policy: {read: {}}}   # consistency: live\n"},
    {"E0452", "the node has no conversation",
     "The scope `conversation` selects the traces of the conversation that the "
     "node continues, but this node continues no conversation.  Add the key "
     "`conversation` to the node.  Only gmi nodes have this key.",
     "# a: {type: gmi, prompt: hi, conversation: chat,\n"
     "#     memory_policy: {read: {scope: conversation}}, ...}\n"},
    {"E0453", "the deployment has no usable discovery plugin",
     "A discovery_policy asks the plugins of the deployment's `discovery`.  "
     "These plugins must be installed and trusted, must not be quarantined, "
     "and must provide discovery.  The message names what is missing.",
     "# mortise.yaml beside the graph has no\n"
     "#     discovery: {plugins: [NAME]}\n"
     "# and the graph\n"
     "#     a: {type: gmi, discovery_policy: {query: \"${input.text}\"}, "
     "...}\n"},

    {"E0501", "an operation that is not available",
     "No manifest on plugins.path has this operation, or the plugin of the "
     "operation cannot be used: it has no trusted signature, or is revoked, "
     "quarantined or broken.  The message names the cause and the remedy.",
     START_A "  a: {type: tool, tool: text/lnies, next: END}\n"},
    {"E0502", "a guardrail that is not available",
     "The plugin of a guardrail must be installed and trusted, must not be "
     "quarantined, and must provide guardrails.  Mortise rejects the graph, "
     "because a run without the guardrail would be unprotected.",
     START_A "  a: {type: guardrail, guardrails: [patern], next: END}\n"},
    {"E0503", "arguments that the operation rejects",
     "The arguments do not match the operation's input_schema.  `mortise "
     "plugin inspect PLUGIN/OPERATION` shows the schema.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {test: hi}, next: END}   # "
     "text\n"},
    {"E0504", "an effect class weaker than the operation's",
     "The plugin declares the effect class of an operation.  A graph can "
     "replace this class only by a stricter one.  From the weakest to the "
     "strictest, the classes are pure, read, write and external.",
     START_A
     "  a: {type: tool, tool: file/write, effect_class: pure, next: END}\n"},
    {"E0505", "a tool that is not an operation",
     "The name of a tool has the form PLUGIN/OPERATION, such as file/write.  "
     "The lists `allow`, `ask` and `deny` under `tools` of a deployment accept "
     "only operations, not graph/NAME (a graph that is a tool).  To restrict "
     "such a graph, list the operations that the graph calls.",
     START_A "  a: {type: tool, tool: lines, next: END}   # text/lines\n"},
    {"E0506", "on_in_doubt: reconcile, but the operation cannot reconcile",
     "`on_in_doubt: reconcile` asks the plugin whether the effect happened.  "
     "The manifest does not declare `reconcile: true` for this operation, so "
     "the plugin cannot answer.  Use ask, retry or fail.",
     START_A
     "  a: {type: tool, tool: text/lines, on_in_doubt: reconcile, next: "
     "END}\n"},

    {"E0507", "a tool that the deployment denies",
     "A pattern in the deployment's tools.deny matches the tool.  Or the "
     "deployment has a list tools.allow, and no pattern in tools.allow or "
     "tools.ask matches the tool.",
     "# mortise.yaml beside the graph says\n"
     "#     tools: {deny: [file/write]}\n"
     "# and the graph\n"
     "#     a: {type: tool, tool: file/write}\n"},

    {"E0508", "a limit above the deployment's",
     "The limits of a deployment are the defaults of all graphs, and also the "
     "highest values that a graph can set.",
     "# mortise.yaml beside the graph says\n"
     "#     limits: {steps: 100}\n"
     "# and the graph\n"
     "#     limits: {steps: 500}\n"},

    {"E0509", "a resource of a node that does not write",
     "Nodes that name the same `resource` do not run at the same time, if "
     "their effect class is write or external.  A node of another class can "
     "run beside any node, so the key has no effect here.  Remove the key, or "
     "correct the effect class.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: x}, resource: disk, "
     "next: END}\n"},

    {"E0510", "a role that does not exist",
     "Define the role under `roles`, or use a built-in one: researcher, "
     "red-team, fact-checker, writer, editor, critic or synthesizer.",
     START_A "  a: {type: leaf, goal: sum it up, role: writr, next: END}\n"},

    {"E0511", "a model whose provider cannot be used",
     "An alias under the deployment's `models` names the plugin that calls the "
     "model.  This plugin must be installed and trusted, must not be "
     "quarantined, and must provide models.  The message names what is "
     "missing.",
     "# mortise.yaml says\n"
     "#     models: {default: {provider: pattern, model: small}}\n"
     "# and pattern is a guardrail\n"},

    {"E0512", "a cache for an operation that is not pure",
     "cache: true reuses an earlier output of the operation.  A cache is safe "
     "only for operations of class pure.  The plugin must declare this class, "
     "and neither the node nor `defaults` may set a stricter class.",
     START_A
     "  a: {type: tool, tool: file/read, args: {path: x}, cache: true, next: "
     "END}\n"},

    {"E0513", "a model that does not exist or cannot be used",
     "llm.provider_id and llm.fallback name aliases of the deployment's "
     "`models`.  A node without these keys uses the alias `default`.  `mortise "
     "plan` and `mortise chat` without --model also use `default`.  Define the "
     "alias, for example 'default: {provider: openai, base_url: URL, model: "
     "NAME}' (docs/models.md).  The provider of the alias must be usable "
     "(E0511).  The config of a plugin can also name aliases, in members that "
     "its config_schema marks with x-model: true.  If the config does not set "
     "such a member, the alias in the member's `default` must exist.",
     START_A
     "  a: {type: gmi, prompt: hi, llm: {provider_id: smal}, next: END}\n"},

    {"E0514", "a tool that does not exist",
     "tool_allowlist names installed operations and graphs.  An entry for "
     "operations can be a pattern, in which * stands for any characters.  An "
     "entry that matches nothing is an error, because the node would have "
     "fewer tools than you expect.  `tool_choice` must name one of the tools "
     "in the list.",
     START_A
     "  a: {type: gmi, prompt: hi, tool_allowlist: [txt/*], next: END}\n"},

    {"E0515", "a group that cannot share the store",
     "store.access.group names a group of this machine, whose members can use "
     "the store's socket.  The group must exist.  The user as which the engine "
     "or a command runs must be root or a member of the group.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "store:\n"
     "  access: {group: no-such-group}\n"},

    {"E0517", "a memory that cannot be used",
     "memory.plugin of a deployment names the plugin that stores traces, the "
     "entries of a memory.  The plugin must be installed and trusted, must not "
     "be quarantined, and must provide memory.  The message names what is "
     "missing.",
     "# mortise.yaml says\n"
     "#     memory: {plugin: pattern}\n"
     "# and pattern is a guardrail\n"},

    {"E0518", "a discovery plugin that cannot be used",
     "discovery.plugins names plugins of the kind discovery.  Each of these "
     "plugins must be installed, trusted and configured.  Write the config of "
     "a plugin into its entry ({plugin, config}) or under plugins.config.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "discovery: {plugins: [catalgo]}   # did you mean catalog?\n"},

    {"E0520", "a compaction that changes the world",
     "`compaction` shortens an output with an operation of class pure or read. "
     " Mortise rejects an operation of another class, because after a crash "
     "the engine repeats the call without asking anybody.",
     START_A
     "  a: {type: leaf, goal: sum it up, compaction: file/write, next: END}\n"},

    {"E0521", "a program that the operation cannot run",
     "An argument names a program that the operation cannot run.  There are "
     "three causes.  `programs` of the deployment does not define the program. "
     " Or permissions.exec of the plugin does not include the program.  Or the "
     "operation has the class pure or read, and the program is not declared "
     "with `reads: true`.  Plugins mark arguments that name programs with "
     "x-program: true in their input_schema.  `mortise doctor` checks whether "
     "the files of `programs` exist on this machine.",
     "# mortise.yaml beside the graph says\n"
     "#     programs: {count: {path: ./count.sh, reads: true}}\n"
     "# and the graph\n"
     "#     a: {type: tool, tool: exec/look, args: {program: cuont}}\n"},

    {"E0601", "an unset environment variable",
     "${env:NAME} fails if NAME is not set.  Set the variable, or write a "
     "default: ${env:NAME:-default}.",
     "kind: Deployment\n"
     "store: {path: \"${env:NO_SUCH_VARIABLE}\"}   # or "
     "${env:NAME:-./state}\n"},
    {"E0602", "a file of ${file:...} that cannot be read",
     "The path is relative to the directory of the deployment file.  The file "
     "must be UTF-8 and at most 1 MiB large.",
     "kind: Deployment\n"
     "store: {path: \"${file:no-such-file}\"}\n"},
    {"E0603", "a broken ${...}",
     "A deployment accepts ${env:NAME}, ${env:NAME:-default} and ${file:PATH}. "
     " Write $${ for a literal ${.",
     "kind: Deployment\n"
     "store: {path: \"${state}\"}\n"},

    {"E0604", "a reference to a secret in the wrong place",
     "secret://NAME is allowed only where a schema of the plugin sets "
     "x-secret.  The reference must be the whole value, or its last word "
     "(\"Bearer secret://NAME\").  The value must not also contain ${...}.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: \"secret://key\"}, "
     "next: END}\n"},
    {"E0605", "a secret that is not granted",
     "The deployment's `secrets` does not contain this secret, or does not "
     "grant it to the plugin.  Graphs that a model (`mortise plan`) or a "
     "plugin wrote never get secrets.",
     START_A "  a:\n"
             "    type: tool\n"
             "    tool: http/get\n"
             "    args: {url: \"http://h\", headers: {Authorization: \"Bearer "
             "secret://nokey\"}}\n"
             "    next: END\n"},
    {"E0606", "a secret without a provider",
     "A secret needs exactly one of these keys: env: VARIABLE, file: PATH, "
     "exec: [PROGRAM, ...] or systemd-creds: NAME.  The name of a secret "
     "consists of letters, digits, dots, _ and -.",
     "kind: Deployment\n"
     "secrets: {key: {}}\n"},

    {"E0607", "a config that the plugin rejects",
     "The value under `plugins.config` or `guardrails` does not match the "
     "plugin's config_schema (`mortise plugin inspect NAME`).  If the schema "
     "requires a member, every graph that uses the plugin needs a deployment "
     "that sets this member.",
     "kind: Deployment\n"
     "plugins: {config: {pattern: {builtin: [mail]}}}   # email\n"},

    {"E0608", "a plugin that does not start or stop",
     "`mortise check --plugins` starts each plugin that the graph uses or that "
     "the deployment configures.  The command calls create() of the plugin "
     "with the plugin's config and secrets.  A deployment configures plugins "
     "with the keys guardrails, memory, discovery, models, plugins.config, "
     "tools.mcp and executors.  If the plugin does not start, create() failed, "
     "crashed or did not return.  A run would fail at the first node that "
     "needs the plugin.  If the plugin does not stop, its quiesce() or "
     "destroy() failed.  An engine would then wait for the plugin before it "
     "exits.",
     "# plugins: {config: {file: {roots: [/does/not/exist]}}}\n"
     "# $ mortise check --plugins mortise.yaml\n"},

    {"E0609", "a program that could write what it must not",
     "`reads: true` declares that a program changes nothing, whatever its "
     "arguments are.  Therefore `reads: true` and `write` exclude each other.  "
     "`write` must never include the deployment file and its lock file, the "
     "store, or the directories of plugins and trust files.  Otherwise the "
     "program could extend its own permissions.",
     "kind: Deployment\n"
     "programs: {jq: {path: /usr/bin/jq, reads: true, write: [./out]}}\n"},

    {"E0610", "an invalid MCP server",
     "A server under `tools.mcp` needs either `command` (a program that "
     "Mortise starts) or `url`.  The URL must use https, or http on this "
     "machine.  A program can use either no network (`net: []`) or the whole "
     "network (`net: [\"*\"]`).  `write` must not include the deployment file "
     "and its lock file, the store, or the directories of plugins and trust "
     "files.  `sampling` must name an alias in `models`.",
     "kind: Deployment\n"
     "tools: {mcp: {files: {url: \"http://mcp.example.com\"}}}   # https\n"},

    {"E0611", "a config that belongs elsewhere",
     "Configure the plugin `mcp` with `tools.mcp` and the lock file.  This "
     "plugin accepts no config under `plugins.config`.",
     "kind: Deployment\n"
     "plugins: {config: {mcp: {}}}   # tools: {mcp: {...}}\n"},
    {"E0612", "a broken lock file",
     "`mortise mcp pin` and `mortise discovery pin` write mortise.lock beside "
     "the deployment.  The file is invalid: somebody edited it, or a merge "
     "broke it.  Restore one complete version of the file, then pin again.",
     "# mortise.lock\n"
     "# {\"apiVersion\": \"mortise/v1\", \"kind\": \"Lock\", \"mcp\": "
     "{\"files\": "
     "{\"tools\":\n"
     "#   {\"read\": {\"digest\": \"abc\", \"input_schema\": {}}}}}}\n"},
    {"E0616", "a user that programs cannot run as",
     "`user` of a program, or of a server's sandbox, must name an ordinary "
     "user of this machine.  If the engine does not run as root, omit `user`: "
     "only root can start programs as another user.",
     "kind: Deployment\n"
     "programs: {jq: {path: /usr/bin/jq, user: root}}\n"},

    {"E0701", "an invalid name of an operation",
     "The name of an operation has at most 64 characters and follows the rules "
     "for plugin names.  A graph calls the operation as PLUGIN/OPERATION.  "
     "`judged_as` gives each call a second name, to which the lists under "
     "`tools` of a deployment also apply.  This name must contain {ARGUMENT}, "
     "where ARGUMENT is a string that the operation's input_schema requires.",
     "kind: Plugin\n"
     "provides: {executor: {operations: {Re fund: {effect: external}}}}\n"},
    {"E0702", "an invalid version or range",
     "A version is one to four numbers with dots (1.4.2).  A range is a list "
     "of comparisons, separated by spaces, that must all be true (>=1.0 <2).",
     "kind: Plugin\n"
     "metadata: {name: acme.pay, version: 1.4-beta}\n"},
    {"E0703", "invalid artifacts",
     "`mortise plugin sign` writes the list `artifacts`.  Each entry has the "
     "name, the size and the BLAKE2b-256 digest (in hex) of the file for one "
     "architecture.  These files are in the directory of the manifest.  Do not "
     "edit the list.  Sign the plugin again instead.",
     "kind: Plugin\n"
     "artifacts: [{arch: x86_64-linux-gnu, file: ../acme_pay.so}]\n"},
    {"E0704", "x-secret: true in a place that is not searched",
     "Mortise finds x-secret: true only below properties, additionalProperties "
     "and items of a schema, at any depth.",
     "kind: Plugin\n"
     "config_schema: {enum: [{x-secret: true}]}\n"},
    {"E0705", "an invalid permission",
     "net takes HOST:PORT, fs and exec take absolute paths, env takes names of "
     "variables, and state takes paths of the run's state. config:PATH stands "
     "for the value at PATH in the plugin's config.",
     "kind: Plugin\n"
     "permissions: {net: [api.acme.com]}   # api.acme.com:443\n"},
    {"E0706", "an impossible intent",
     "`intent: steps` declares that the operation changes the world only in "
     "two ways.  It sends requests through the host (http.request/1 and so "
     "on), or it marks its own steps with journal.begin/1 and journal.end/1.  "
     "The plugin must list at least one of these methods in requires.methods.  "
     "An operation of class pure or read cannot set `intent`.",
     "kind: Plugin\n"
     "provides: {executor: {operations: {refund: {effect: external, intent: "
     "steps}}}}\n"},
    {"E0707", "a plugin for another host",
     "This mortise does not support the plugin's abi, isolation or required "
     "range of host versions.  Loading the plugin would fail.  Build the "
     "plugin with this host's <mortise/plugin.h>, or use a mortise that the "
     "plugin supports.",
     "kind: Plugin\n"
     "metadata: {name: acme.pay, version: 1.4.2}\n"
     "seq: 1\n"
     "abi: {major: 2, minor: 0}   # major: 1\n"
     "provides:\n"
     "  executor: {threading: blocking, operations: {refund: {effect: "
     "external}}}\n"},
    {"E0708", "a method that this kind of plugin cannot ask",
     "Guardrails and models can ask the host only for the few methods that "
     "their headers list.  The manifest requires another method, which the "
     "host would always refuse.  Remove this method, or let the plugin also "
     "provide an executor, whose operations can ask for the method.",
     "kind: Plugin\n"
     "metadata: {name: acme.llm, version: 1.0.0}\n"
     "seq: 1\n"
     "abi: {major: 1, minor: 0}\n"
     "provides: {model: {threading: async}}\n"
     "requires: {methods: [http.request/1, kv.get/1]}   # http.request/1 "
     "alone\n"},
    {"E0709", "an impossible background",
     "`background: true` means that the plugin maintains something between its "
     "calls, such as connections.  The host calls background() of the plugin "
     "once, and this call stays pending.  Only a plugin with `threading: "
     "async` can have a pending call that occupies no thread.",
     "kind: Plugin\n"
     "provides: {executor: {threading: blocking, background: true}}   # "
     "async\n"},
    {"E0710", "a directory that the config cannot have",
     "`directory` of a memory plugin must name a member of the plugin's "
     "config.  The host sets this member to the directory for the memory's "
     "files.  Here config_schema does not allow the member, so the plugin "
     "could never start.",
     "kind: Plugin\n"
     "metadata: {name: acme.notes, version: 1.4.2}\n"
     "seq: 1\n"
     "abi: {major: 1, minor: 0}\n"
     "provides: {memory: {threading: blocking, directory: dir}}   # "
     "directory\n"
     "config_schema: {type: object, properties: {directory: {type: string}},\n"
     "                additionalProperties: false}\n"},
    {"E0711", "an invalid key",
     "Trust files accept minisign public keys, as text (RW...) or as the name "
     "of a .pub file in the directory of the trust file.  Revocations also "
     "accept key ids.",
     "kind: Trust\n"
     "keys: [{key: RWnonsense, plugins: [acme.*]}]\n"},
    {"E0712", "an invalid pattern",
     "A pattern is the name of a plugin in which * stands for any characters "
     "(acme.*).",
     "kind: Trust\n"
     "keys: [{key: acme.pub, plugins: [\"acme.[a-z]\"]}]\n"},
    {"E0713", "an invalid time",
     "Times are RFC 3339 in UTC, such as 2026-01-31T12:00:00Z.",
     "kind: Trust\n"
     "keys: [{key: acme.pub, plugins: [acme.*], not_before: yesterday}]\n"},
    {"E0714", "an invalid digest",
     "A digest is the BLAKE2b-256 of a manifest or an artifact: 64 hex digits.",
     "kind: Trust\n"
     "revoked: {digests: [9f0c]}\n"},

    {"E0901", "an input that the graph rejects",
     "The `input` of a case does not match the schema of the graph's "
     "state.input.  Mortise would not start this run, so there is nothing to "
     "test.",
     "# graph: says state: {input: {required: [log]}}\n"
     "# cases:\n"
     "#   none: {input: {}, expect: {status: completed}}\n"},
    {"E0902", "a failed expectation",
     "`mortise test` ran the case, and the result differs from `expect`.  An "
     "expected object lists only the members that must exist, and the other "
     "members of the result are ignored.  Lists and all other values must be "
     "equal.",
     "# expect: {state: {scratch: {label: refund}}}   # and it was 'other'\n"},
    {"E0903", "something that the case does not script",
     "The run reached a call, a question or an effect in doubt for which the "
     "case has no answer.  A test calls only operations that are `pure`, "
     "because other calls would reach the outside world.  Script the output, "
     "or let the test call the plugin with `real: [PLUGIN]`.",
     "# operations: {acme.pay/refund: {output: {id: re_1}}}   # was missing\n"},
    {"E0904", "a run that a crash changes",
     "`mortise test --crash-everywhere` killed the process at a commit and "
     "continued the run in a new process.  The result differs from the result "
     "of a run without a crash.  Perhaps an operation violates its manifest, "
     "for example a `read` operation that changes something.  Otherwise "
     "Mortise has a bug: please report it.",
     "# mortise test --crash-everywhere refund.test.yaml\n"},
    {"E1001", "a foreign file that cannot be imported",
     "`mortise graph import` and `mortise config import` do not know the "
     "format, or the file contradicts itself.  Examples: an edge to an unknown "
     "node, two nodes with one id, an executorConfig of another type than its "
     "node, a server with neither a command nor a URL.  The import writes no "
     "file.",
     "# {\"id\": \"g\", \"nodes\": [], \"edges\": [{\"source\": \"a\", "
     "\"target\": \"b\"}]}\n"},
    {"E1101", "a node that can no longer be changed",
     "A diff (`mortise steer`) changes or removes a node that has begun, has "
     "ended or was skipped, or whose team has ended.  Only nodes that have not "
     "begun can change.  Instead, add a node that depends on this node.  The "
     "new node gets the output of this node.",
     "# - set_role: {id: draft, role: critic}   # draft has begun\n"},
    {"E1102", "operations that contradict each other",
     "Two operations of one diff (`mortise steer`) set the same property of "
     "one node, or one operation removes a node that the other refers to.  "
     "Mortise cannot know which operation you mean.  Keep one of the two.  You "
     "can remove a node and then add another node with the same id.",
     "# - set_role: {id: draft, role: critic}\n"
     "# - remove: draft\n"},
    {"E1103", "a node that others depend on",
     "A diff (`mortise steer`) removes a node, but another node still depends "
     "on it.  Reroute or remove that other node in the same diff.",
     "# - remove: draft\n"
     "# - reroute: {id: check, depends_on: []}   # it depended on draft\n"},
    {"E1104", "a place that cannot be changed",
     "The path of an operation leads into a node that has no task graph.  Only "
     "nodes with a task graph, such as teams, contain nodes that a diff can "
     "change.  All nodes that `wrap` puts into a team must be nodes of the "
     "same graph.",
     "# - remove: draft/intro   # draft is a leaf\n"},
    {"E1105", "an id that is in use",
     "A diff (`mortise steer`) adds a node under an id that another node has.  "
     "To replace that node, remove it first, or split it.",
     "# - add: {id: draft, node: {goal: write it}}   # there is a draft\n"},
    {"E1106", "an invalid diff",
     "A diff (`mortise steer`) is a list of at most 256 operations.  An "
     "operation is a mapping with one key: add, remove, split, reroute, "
     "set_role, set_tools or wrap.",
     "# - {remove: draft, add: {id: sketch, node: {goal: draw it}}}   # two\n"},
    {"W0215", "an unknown JSON Schema keyword",
     "JSON Schema (draft 2020-12) has no keyword of this name, so the keyword "
     "checks nothing.  Names that begin with x- are free for your own use.",
     "state: {input: {properties: {name: {maxLenght: 8}}}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0216", "a pattern that is not JSON Schema's",
     "JSON Schema requires that `pattern` is a regular expression of ECMA-262. "
     " This pattern is not such an expression.  Mortise reads it as PCRE2, so "
     "that plugins that are already signed still work.  Other validators, and "
     "models that read the schema, may read it differently or ignore it.",
     "# in pay.plugin.yaml: input: {properties: {id: {type: string, pattern: "
     "'(?i)^[a-f]++$'}}}\n"},
    {"W0218", "a required member that the schema spells differently",
     "`required` names a member that is not in `properties`, and `properties` "
     "has a very similar name.  A value that has only the similar name does "
     "not match the schema.",
     "state: {input: {properties: {name: {type: string}}, required: "
     "[nmae]}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0414", "a member that no schema lists",
     "A schema lists the members of this value, and this member is not among "
     "them.  The schema allows other members, so the name may be right.  "
     "Mortise warns about every unlisted member of an output.  In the state, "
     "it warns only if the name is very similar to a listed name.  If you mean "
     "this name, list it in the schema of the state or in the node's "
     "output_schema.",
     START_A "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
             "{scratch.n: output.totl}, next: END}\n"},
    {"W0415", "a name that is read before it is set",
     "No node that writes the name can run before the node that reads it: no "
     "path of edges leads from a writer to the reader, not even through a "
     "loop.  Or only nodes in the body of a map write the name, and the reader "
     "is outside of the map.  If the name is in scratch or in the state's "
     "schema, this is only a warning, because people can set the name with an "
     "update.",
     "state: {artifacts: {properties: {b: {type: object}}}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: "
     "\"${artifacts.b.lines[0]}\"}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0416", "a template name without a value",
     "The operation replaces names in a text by values, as text/template does "
     "(its input_schema has x-template).  The text uses a name that the values "
     "do not have.  If a {{name}} has no value, the node fails.  If a section "
     "({{#name}}) has no value, the operation leaves the section out.",
     "start: a\nnodes:\n"
     "  a:\n"
     "    type: tool\n"
     "    tool: text/template\n"
     "    args: {template: \"{{naem}}\", values: {name: x}}\n"
     "    next: END\n"},
    {"W0417", "a name that no node sets",
     "No node writes this path.  Only people (with an update) or plugins can "
     "set the name.  If you expect this, list the name in the schema "
     "state.scratch.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.text: \"output.lines[0]\"}, next: b}\n"
     "  b: {type: tool, tool: text/lines, args: {text: \"${scratch.txet}\"}, "
     "next: END}\n"},
    {"W0453", "a discovery edge without a usable discovery plugin",
     "A discovery edge asks the plugins of the deployment's `discovery`.  If "
     "no plugin is configured there, or one of them cannot be used, the edge "
     "finds nothing, and each run takes the fallback of the edge.  The message "
     "names what is missing.",
     "# mortise.yaml beside the graph has no\n"
     "#     discovery: {plugins: [NAME]}\n"
     "# edges:\n"
     "#   - {from: a, discovery: {query: \"${output.text}\", fallback: b}}\n"},
    {"W0801", "two nodes write the same path",
     "Neither node always runs after the other, so the order of the writes is "
     "random.  If both nodes write the path in the same run, the run fails "
     "with the error code conflict.  Declare a reducer for the path under "
     "state.reducers, for example `last`.",
     "start: [a, b]\n"
     "nodes:\n"
     "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.n: output.total}, next: END}\n"
     "  b: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.n: output.total}, next: END}\n"},
    {"W0802", "an unused reducer",
     "No node writes this path with outputs or output_as.  Correct the path, "
     "or remove the reducer.",
     "state: {reducers: {scratch.list: concat}}   # nobody writes "
     "scratch.list\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"},
    {"W0803", "a duplicate edge",
     "The graph already declares the same edge.  The duplicate has no effect.  "
     "Remove one of the two.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: END}\n"
     "edges: [{from: a, to: END}]   # the same as next: END\n"},
    {"W0804", "a loop without an exit",
     "Each path through the loop leads back into the loop.  The run pauses "
     "when the loop reaches limits.visits.  Add an edge that leaves the loop.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, next: a}\n"},
    {"W0805", "a list that grows without bound",
     "Each visit of the loop appends to the list, and the whole list is part "
     "of the state.  Set max_items of the reducer.",
     "state: {reducers: {scratch.list: concat}}\n" START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, outputs: "
     "{scratch.list: output.lines}, routes: [{when: node.visit < 3, to: a}], "
     "default: END}\n"},
    {"W0806", "an effect that a crash leaves in doubt",
     "The operation changes the world, is not idempotent, and cannot report "
     "whether the effect happened.  If the machine stops or a connection "
     "breaks before the answer of the operation is recorded, the effect is in "
     "doubt.  Then on_in_doubt decides: ask (a person decides; the default), "
     "retry (the effect may happen twice) or fail.  `mortise plugin inspect` "
     "shows the `intent` of the operation: whether the engine records each "
     "call of the operation, or each request that a call makes through the "
     "host.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, effect_class: "
     "external, next: END}\n"},
    {"W0807", "a quorum that cannot be reached",
     "Too many of the edges that lead to the join exclude each other, such as "
     "two routes of one router.  Lower the quorum.",
     "start: r\n"
     "nodes:\n"
     "  r: {type: router, routes: [{when: input.ok == true, to: a}], default: "
     "b}\n"
     "  a: {type: human, prompt: x, next: c}\n"
     "  b: {type: human, prompt: x, next: c}\n"
     "  c: {type: human, prompt: x, join: {quorum: 2}, next: END}\n"},
    {"W0808", "a plugin that is not installed",
     "`plugins.config` or `plugins.isolation` names a plugin that is not "
     "installed, so the entry has no effect.  Check the spelling of the name "
     "(`mortise plugin list`).",
     "# mortise check mortise.yaml\n"
     "kind: Deployment\n"
     "plugins: {config: {fiel: {roots: [./data]}}}   # file\n"},
    {"W0809", "an effect that may happen twice",
     "on_in_doubt: retry repeats an effect that is in doubt after a crash, a "
     "lost connection or a timeout.  The operation is not declared idempotent, "
     "so the effect may happen twice.",
     START_A
     "  a: {type: tool, tool: text/lines, args: {text: hi}, effect_class: "
     "external, on_in_doubt: retry, next: END}\n"},
    {"W0812", "a missing answer that the schema rejects",
     "A decision always has an `answer`, which is null if no person answered.  "
     "With `on_timeout: accept` the run continues with null, but `schema` does "
     "not allow null.  Allow null in the schema, and check every use of "
     "`output.answer` and of the node's artifact.  You can also choose another "
     "value of on_timeout.",
     START_A
     "  a: {type: human, prompt: How much?, wait: 1h, on_timeout: accept,\n"
     "      schema: {type: integer}, next: END}   # {type: [integer, "
     "'null']}\n"},
    {"W0813", "a retry of an error that is never retried",
     "The engine never retries its own permanent errors: `expression`, "
     "`guardrail`, `schema` for arguments or an output, and others.  A "
     "permanent error that a node's operation reports is retried if retry_on "
     "lists its code, such as `http.404` or `exec.exit`.  A gmi node and a "
     "leaf also report `schema`, for a model's reply that does not match "
     "output_schema.  With `tool_errors: fail`, a gmi node reports the code of "
     "the tool's error.  A retry_policy never repeats a call in doubt, because "
     "the call may have happened.  The plugin, `on_in_doubt` or a person must "
     "settle the call first.",
     START_A
     "  a: {type: tool, tool: http/request, args: {url: \"${input.url}\"},\n"
     "      retry_policy: {max_attempts: 3, retry_on: [in_doubt]}, next: "
     "END}\n"},
    {"W0814", "an error class or code that is probably misspelled",
     "retry_on lists classes of errors (transient, timeout) and codes.  "
     "`mortise explain` lists the codes of Mortise and its plugins.  This word "
     "is not among these classes and codes, but is very similar to one of "
     "them.  Other plugins have codes of their own, so this is only a warning. "
     " A misspelled word never matches, so nothing is retried.",
     START_A
     "  a: {type: tool, tool: http/request, args: {url: \"${input.url}\"},\n"
     "      retry_policy: {max_attempts: 3, retry_on: [transiant]}, next: "
     "END}\n"},
    {"W0820", "a deployment that you have not allowed yet",
     "Mortise found this mortise.yaml beside a graph or in the working "
     "directory.  Neither --deployment nor MORTISE_DEPLOYMENT names it.  Until "
     "you allow the file, it cannot choose code to run (`plugins.path`, "
     "`plugins.dev`, `trust`, `programs`, `tools.mcp`).  It cannot read "
     "`secrets`, the environment or files (`${env:...}`, `${file:...}`), or "
     "name an address or a path outside its directory.  Read the file, then "
     "run `mortise config allow FILE`.  The deployment and the files that it "
     "names must belong to root or to you, and other users must not be able to "
     "write to them.  Without this permission, `mortise check` without "
     "--plugins, `graph "
     "show`, `config print` and `key list` print this warning and continue.  "
     "Other commands that use the file fail with exit code 77.",
     "# mortise check graph.yaml, beside this mortise.yaml\n"
     "# plugins: {dev: [.]}   code that nobody signed\n"},
    {"W0821", "a secret that is not masked",
     "If a server or a plugin repeats a secret, Mortise writes \"[secret "
     "NAME]\" in its place.  Mortise does not search for secrets of less than "
     "eight bytes, because they would match everywhere.  Use a longer secret.",
     "# export PIN=1234\n"
     "# secrets: {pin: {env: PIN}}\n"},
    {"W0822", "a permission that grants nothing",
     "`config:PATH` stands for the value at PATH in the config that the "
     "deployment gives the plugin.  The plugin's config_schema has no property "
     "at this path, so the permission grants nothing.",
     "kind: Plugin\n"
     "metadata: {name: acme.pay, version: 1.4.2}\n"
     "seq: 1\n"
     "abi: {major: 1, minor: 0}\n"
     "provides:\n"
     "  executor: {threading: blocking, operations: {refund: {effect: "
     "external}}}\n"
     "permissions: {net: [config:urll]}   # config:url\n"
     "config_schema: {type: object, properties: {url: {type: string}}}\n"},
    {"W0823", "something that does not exist",
     "The deployment names a directory, a variable, a file or the program of a "
     "secret that does not exist on this machine.",
     "# mortise check mortise.yaml\n"
     "kind: Deployment\n"
     "plugins: {path: [./plugin]}   # ./plugins\n"},
    {"W0824", "a pin without effect",
     "mortise.lock pins the tools of a server that `tools.mcp` does not have, "
     "or a tool whose schema is invalid.  Such a tool cannot be called.  Check "
     "the spelling of the server's name, or remove the pin with `mortise mcp "
     "pin NAME`.",
     "# tools: {mcp: {file: {command: [node, files.js]}}}\n"
     "# and mortise.lock beside it pins the server 'files'\n"},
    {"W0825", "a tool pattern that matches nothing",
     "tools.allow, ask and deny of a deployment contain patterns for the names "
     "of operations.  This pattern matches no operation of any installed "
     "plugin.  So a misspelled pattern in `deny` denies nothing.  A pattern "
     "matches tools of MCP servers only if tools.mcp and the lock file list "
     "these tools.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "tools: {deny: [file/wirte]}   # file/write\n"},
    {"W0826", "something without effect",
     "This entry changes nothing.  Remove it, or correct it.  The causes are: "
     "a guardrail that is already in the list; a trait that no personality "
     "edge and no gmi node uses; an empty persona; memory_consistency in a "
     "graph without a memory_policy; discovery of tools for a node without "
     "tools; `default` in a schema (Mortise does not fill in missing values); "
     "`end: first` without an edge to END.",
     START_A
     "  a: {type: guardrail, guardrails: [pattern, pattern], next: END}\n"},
    {"W0828", "a way around the tool policy",
     "The rules and pins under `tools` apply to operations.  The config of "
     "this plugin allows requests to the host of an MCP server.  Such a "
     "request can call every tool of the server, because the rules and pins do "
     "not apply to the body, which names the tool.",
     "kind: Deployment\n"
     "metadata: {name: d}\n"
     "plugins: {config: {http: {allow: [mcp.example.com:443]}}}\n"
     "tools: {mcp: {shop: {url: \"https://mcp.example.com/mcp\"}}}\n"},
    {"W0830", "a template in a key that takes none",
     "Only some keys accept templates: prompt, goal, args, instructions and "
     "others that mortise-graph(5) marks.  In any other key, Mortise does not "
     "evaluate ${...} and uses the text as it is written.",
     START_A
     "  a: {type: human, prompt: Well?, assignees: [\"${input.who}\"], next: "
     "END}\n"},
    {"W0904", "a scripted answer that a schema rejects",
     "A case scripts an output that does not match the schema of the operation "
     "or of the node, so the node fails.  Or a case scripts the answer of a "
     "person, or the arguments that a person changes, and the scripted value "
     "does not match the schema of the request.  Then the case fails.  Correct "
     "the misspelled member, or add the missing one.  Ignore the warning if "
     "the case tests exactly this.",
     "# cases:\n"
     "#   one: {operations: {file/read: {output: {path: a, contnet: b}}}}\n"},
    {"W0905", "an expectation that can never be met",
     "The case expects a member of the state that no node writes and no schema "
     "lists.  Or the case expects a member that the output of a node, or an "
     "event of this type, cannot have.",
     "# cases:\n"
     "#   one: {expect: {state: {artifacts: {reprot: done}}}}   # report\n"},
    {"W1001", "something that the import leaves out",
     "A field of the foreign file has no equivalent in Mortise, or the import "
     "cannot translate its meaning.  Examples: a condition that is a function, "
     "or a server with a transport that this build does not support.  If the "
     "missing part decides what runs, `mortise check` rejects the new file at "
     "that place until you add the part.",
     "# \"condition\": {\"type\": \"function\"}   write it as CEL: when: "
     "scratch.score > 0.8\n"},
    {"W1002", "an id that the import changes",
     "In Mortise, a node id begins with a letter or '_', followed by letters, "
     "digits, '_' and '-', with at most 64 characters.  START and END are not "
     "allowed.  The import renames every reference to the node in the file.  "
     "Check whether prompts, and programs that read the artifacts, still use "
     "the old id.  The name of an MCP server begins with a lowercase letter, "
     "followed by lowercase letters, digits, '_' and '-'.  Graphs use this "
     "name to call the server's tools.",
     "# \"first step\" is called first_step\n"},
    {"W1003", "a server that could not start here",
     "The import leaves this server out, because the server could not start.  "
     "Its command downloads the program (npx, uvx) or needs a daemon of the "
     "machine (docker).  Mortise runs programs in a sandbox that can reach "
     "neither the download nor the daemon.  Install the program and import the "
     "list again (npx), or name the installed program.  Another cause: the "
     "server is on another machine, and its URL uses http.  Others could read "
     "and change this traffic, so Mortise requires https.",
     "# tools: {mcp: {files: {command: [npx, -y, \"@acme/files\", ./data]}}}\n"
     "# command: [node, ./node_modules/@acme/files/index.js, ./data]\n"},
    {"W1004", "a secret that others can see",
     "An argument or a URL of an imported server looks like a secret.  The "
     "import did not copy the secret: the new file reads it from an "
     "environment variable.  But other users can see the arguments of a "
     "program, and URLs are logged.  Pass the secret in `env` or `headers`, as "
     "a reference to a secret.",
     "# tools: {mcp: {shop: {command: [./shop], env: {SHOP_KEY: "
     "\"secret://shop\"}}}}\n"},
    {"W1005", "an imported server that would read too much",
     "An argument names the whole file system, a home directory, /etc or a "
     "directory of keys.  In other systems, the program can read all files of "
     "its user.  In Mortise, the program can read only the paths that its "
     "sandbox grants, and the import did not grant this path.  Name the "
     "directory that the server needs.",
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
