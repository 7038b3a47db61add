/* error_codes.c -- what the codes of errors in a run mean.
 *
 * What failed in a run has a `code`: in the event `node_failed`, in `show`, in
 * on_error, where retry_on looks at it.  The words beside it say what happened;
 * here is what all errors of a code have in common, and what one does.  A plugin
 * of others may have codes of its own, which its author explains.  tools/error-codes.sh
 * finds those that the sources have, and a test that none is missing here. */
#include "cli/error_codes.h"

const struct mortise_code mortise_error_codes[] = {
    {"bad_json", "an answer that is not JSON",
     "The server's answer is not the JSON that it was to be.  Say as: text of "
     "http/get to have it as it came.",
     "args: {url: \"${input.url}\", as: text}\n"},
    {"bad_output", "a plugin emitted what is not JSON",
     "What the plugin gave as its output, or as an update, cannot be read.  "
     "That is the plugin's mistake: tell its author.",
     NULL},
    {"bad_pattern", "a pattern that does not compile",
     "The regular expression is none; the words say where.", NULL},
    {"bad_template", "a template that is none",
     "A tag of text/template is not closed, or closes another one.", NULL},
    {"budget", "a budget is used up",
     "The next call could have passed a bound of `budget`, and on_exceeded is "
     "fail.  Give the graph more, or on_exceeded: pause, so that somebody may "
     "raise it.",
     "budget: {usd: 0.50, on_exceeded: pause}\n"},
    {"busy", "a file is in use",
     "Somebody else holds what the file plugin needs.  It may be tried again.",
     NULL},
    {"cancelled", "it was stopped",
     "The run was cancelled, something else decided a race, or a command had "
     "to "
     "move the run.  Nothing is wrong with it.",
     NULL},
    {"compaction", "what others are told of an output was cut",
     "A leaf is told of a long output what makes it shorter; that failed, for "
     "the reason that stands behind it, so its beginning was told, or that of "
     "what was made of it, where that was not short either.  Nothing else is "
     "wrong with the run.",
     NULL},
    {"config", "a plugin refuses its config",
     "What the deployment gives the plugin is nothing that it can work with; "
     "the words say what.",
     NULL},
    {"conflict", "two writes to one path, neither after the other",
     "Branches beside each other wrote the same path, and it has no reducer. "
     "Declare one (`last`, if any will do), or write other paths.",
     "state: {reducers: {scratch.notes: concat}}\n"},
    {"context", "a reply was cut: the model's window is full",
     "What was said and the reply do not fit into the model's window, also not "
     "after the older half was left out.  Shorten the prompt, lower a tool's "
     "max_output, or take a model with a larger window.",
     NULL},
    {"conversation", "what was said cannot be kept",
     "The node's `conversation` would be too large, or is not what a "
     "conversation is; the words say which.",
     NULL},
    {"denied", "it may not",
     "The system, or what the deployment grants, does not let the plugin do "
     "that.",
     NULL},
    {"determinism", "a plugin asked for something else than before",
     "When it was entered again it did not ask what is recorded.  See "
     "E_DETERMINISM: between its asks a plugin is to be a function of its "
     "request and the answers.",
     NULL},
    {"discovery.bad_answer", "what was discovered is none of the candidates",
     "The answer of the deployment's discovery named what the node's allowlist "
     "has not, or was not one.  It is refused as a whole.",
     NULL},
    {"discovery.failed", "nobody discovered anything",
     "None of the deployment's discovery plugins answered, and the words have "
     "the first one's; or it has none, and they say so.  Unless "
     "discovery_policy says fallback: error, the whole "
     "allowlist is offered then.",
     "discovery_policy: {query: \"${input.text}\", fallback: all}\n"},
    {"discovery.nothing", "nothing was discovered, and fallback is error",
     "Nothing that the node may use fits the query.  fallback: all offers the "
     "whole allowlist.",
     "discovery_policy: {query: \"${input.text}\", fallback: all}\n"},
    {"discovery.query", "what to look for cannot be told",
     "The query of a discovery edge gives no text, or fails: the edge leads to "
     "its fallback.",
     "edges: [{from: a, discovery: {query: \"${output.text}\", fallback: "
     "b}}]\n"},
    {"discovery.timeout", "discovery took longer than the node may",
     "The node's timeout was over before the deployment's discovery answered.",
     "timeout: 30s\n"},
    {"exists", "a file is there already",
     "file/write with mode: create makes new files only.", NULL},
    {"expression", "an expression cannot be evaluated",
     "A condition, an `outputs`, `${...}` or on_error.value failed on the "
     "values that it met; the words have the place in the file.  Guard it with "
     "has(), or with a default.",
     "when: has(output.score) && output.score > 0.8\n"},
    {"failed", "a plugin said nothing more",
     "The call failed, and its plugin named no code.  The words are its.",
     NULL},
    {"filter", "a server took something out of the reply",
     "The model's server filters what it gives.  Another try seldom helps; "
     "another model may (llm.fallback does not hold for replies).",
     NULL},
    {"exec.denied", "a program may not be run",
     "The deployment's programs have no such name, do not say that it only "
     "reads, or the plugin's permissions.exec does not come to it.",
     "# mortise.yaml\n"
     "programs: {jq: {path: /usr/bin/jq, reads: true}}\n"},
    {"exec.exit", "a program ended with a code other than 0",
     "The words have the code and the end of what it wrote to stderr, and "
     "`error.exit_code` is the code.  It is permanent: it is tried again if "
     "retry_on names it (and `when` says which codes).  With any_exit: true "
     "it is no error: the output has the code.",
     "retry_policy: {max_attempts: 3, retry_on: [exec.exit], when: "
     "error.exit_code == 75}\n"},
    {"exec.failed", "a program failed", "The words say how.", NULL},
    {"exec.not_started", "a program was not started",
     "The words say why: there is no such file, it cannot be run, "
     "mortise-worker "
     "is not installed, or this kernel cannot hold a program to files.",
     NULL},
    {"exec.signal", "a program was ended by a signal",
     "Its own fault, or somebody killed it, or mortise-worker; memory of the "
     "deployment's program may be too small.",
     NULL},
    {"exec.timeout", "a program took too long",
     "Its timeout_ms or the node's timeout passed, and it was killed with all "
     "that it had started.",
     "retry_policy: {max_attempts: 3, retry_on: [timeout]}\n"},
    {"exec.too_large", "a program said too much",
     "It wrote more than max_output (1 MiB) to stdout, and was killed.",
     "args: {program: git, args: [log], max_output: 8388608}\n"},
    {"guardrail", "a guardrail refused it",
     "What went in, came out or was decided is a violation, and on_violation "
     "is "
     "block.  The event guardrail_result says which guardrail, and why.",
     NULL},
    {"http.404", "the server answered with an error (http.400 to http.599)",
     "The number is the server's status, and so is `error.status`.  408, 425, "
     "429 and those from 500 on are transient: the tries of `retries` are used "
     "up, and a retry_policy may begin anew (docs/http.md).  Others are "
     "permanent: they are tried again if retry_on names them.  any_status: "
     "true "
     "gives the answer as output instead.",
     "retry_policy: {max_attempts: 3, retry_on: [transient, http.404]}\n"},
    {"http.cancelled", "a request was stopped", "See `cancelled`.", NULL},
    {"http.denied", "a request may not go there",
     "The plugin's permissions.net, or its config in the deployment, does not "
     "grant that host and port, or the name leads to a private network without "
     "`private`.",
     "# mortise.yaml\n"
     "plugins: {config: {http: {allow: [\"https://api.example.com\"]}}}\n"},
    {"http.failed", "a request failed", "The words say how.", NULL},
    {"http.invalid", "a request that is none",
     "The URL, the method or a header cannot be sent as it is.", NULL},
    {"http.loop", "pages that lead to one another",
     "http/pages came to a URL again that it had asked for.  The server's last "
     "page should lead nowhere; see what `next` points to.",
     NULL},
    {"http.no_items", "an answer that is no page of a list",
     "Where `items` of http/pages points to there is no list, or where `next` "
     "does there is neither text nor a number.  http/get shows what the server "
     "answers.",
     "args: {url: \"${input.url}\", items: /data}\n"},
    {"http.other_origin", "the next page is somewhere else",
     "http/pages asks for no page of another scheme, host or port than that of "
     "its `url`, since its headers may be credentials.  If the server "
     "redirects, "
     "say the URL that it leads to.",
     NULL},
    {"http.timeout", "a request was not answered in time",
     "Its timeout_ms passed.  Give it more, or try again (its class is "
     "timeout).",
     "retry_policy: {max_attempts: 3, retry_on: [timeout]}\n"},
    {"http.too_many", "a list that is too long",
     "It has more than 100 pages, and max_pages of http/pages does not say "
     "that "
     "so many are meant; or its items are more than an output has room for.",
     "args: {url: \"${input.url}\", max_pages: 1000}\n"},
    {"http.unreachable", "no connection",
     "The name is not known, nobody listens there, or the connection broke "
     "before anything was sent.  It may be tried again.",
     NULL},
    {"in_doubt", "nobody knows whether it happened",
     "An effect was cut off, and on_in_doubt is fail, or a person said so: see "
     "E_IN_DOUBT.  A retry_policy never repeats it.",
     NULL},
    {"interrupted", "a signal came",
     "What a command called (`plugin call`, `mcp`) was stopped by it; nothing "
     "of "
     "it goes on.",
     NULL},
    {"invalid", "arguments or a config that a plugin refuses",
     "The words say what it expects.", NULL},
    {"io", "the system said no", "The words are the system's.", NULL},
    {"length", "a reply was cut at max_tokens",
     "Give the node more max_tokens, or ask for less.", "max_tokens: 2000\n"},
    {"limit", "a bound was passed",
     "The state is larger than limits.state, a value is too deep, or a "
     "plugin's "
     "own bound was passed; the words say which.",
     "limits: {state: 16MiB}\n"},
    {"loop", "a loop that does not come to an end as it should",
     "A gmi node's model called the same tools with the same arguments three "
     "times in succession; or, of a run, an edge back to a loop and one out of "
     "it were taken in the same visit.",
     NULL},
    {"max_iterations", "a model was not done within its turns",
     "max_internal_iterations replies came, and the last one still calls "
     "tools, "
     "or is not what was asked for.  The words have the text so far.",
     "max_internal_iterations: 20\n"},
    {"mcp.auth", "an MCP server wants an authorization",
     "It got none: the deployment has no `auth` for it, or a person rejected "
     "it.",
     "# mortise.yaml\n"
     "tools: {mcp: {remote: {url: https://mcp.example.com/mcp, auth: "
     "{client_id: abc}}}}\n"},
    {"mcp.drift", "a tool is not what was pinned",
     "Its server says something else of it than mortise.lock has, or does not "
     "have it any more.  Look at the difference (`mortise mcp pin SERVER "
     "--check`); `mortise mcp pin SERVER` takes it.",
     NULL},
    {"mcp.failed", "an MCP call cannot be made", "The words say why.", NULL},
    {"mcp.lost", "the connection to an MCP server broke",
     "Its program ended, or the network.  What was under way did not happen, "
     "or only read; it may be tried again.  Of anything else the run is in "
     "doubt.",
     "retry_policy: {max_attempts: 3, retry_on: [transient]}\n"},
    {"mcp.not_pinned", "the deployment has not pinned that tool",
     "`mortise mcp pin SERVER` pins what it offers, as mcp/SERVER/TOOL.  Only "
     "a server with `unpinned: true` has its tools called (mcp/call) while "
     "none of them is pinned.",
     "# mortise.yaml\n"
     "tools: {mcp: {scratch: {command: [./server], unpinned: true}}}\n"},
    {"mcp.not_started", "an MCP server could not be started, or reached",
     "The words have the end of what its program wrote to stderr.  `mortise "
     "doctor` starts each of them once.",
     NULL},
    {"mcp.protocol", "an MCP server does not keep to the protocol",
     "What it said is no answer, or none that can be kept; or it speaks no "
     "version that we do.",
     NULL},
    {"mcp.refused", "an MCP server answered with an error",
     "The words are its.  Where they leave it open whether something happened, "
     "the run is in doubt instead.",
     NULL},
    {"mcp.task", "a task of an MCP server came to nothing",
     "It failed, was cancelled there, or its server does not know it any more.",
     NULL},
    {"mcp.timeout", "an MCP server said nothing in time",
     "Neither an answer nor progress came for tools.mcp.SERVER.timeout.",
     "# mortise.yaml\n"
     "tools: {mcp: {files: {command: [./server], timeout: 5m}}}\n"},
    {"mcp.tool_error", "a tool of an MCP server failed",
     "It says so itself (isError), in these words.", NULL},
    {"mcp.unknown_tool", "an MCP server has no such tool",
     "`mortise mcp inspect SERVER` lists those that it has.", NULL},
    {"memory", "memory ran out",
     "There was no memory for what a plugin emitted.  It may be tried again.  "
     "Of "
     "a run that is paused so, it is the deployment's memory that does not "
     "take "
     "what is to be written: `mortise why RUN` has its words.",
     NULL},
    {"memory.bad_answer", "what is no memory's answer",
     "The deployment's memory gave something that is no list of traces, or "
     "more of them than it was asked for.  Tell its author.",
     NULL},
    {"memory.busy", "others are at the memory",
     "Another process writes to it, or has its file locked.  It may be tried "
     "again.",
     NULL},
    {"memory.corrupt", "the memory's file is not what it wrote",
     "It is damaged, or somebody else's, and nothing was written to it.  Put "
     "it "
     "aside, and import what was exported.",
     "mortise memory import traces.jsonl\n"},
    {"memory.failed", "the memory did not do it",
     "The deployment's memory failed to read, or to write, and gave no code of "
     "its own.  retry_policy tries it again, where its class says that this "
     "may "
     "help.",
     "retry_policy: {max_attempts: 3}\n"},
    {"memory.full", "there is no room for the memory",
     "The disk is full, or its quota is.", NULL},
    {"memory.io", "the memory cannot be reached",
     "Its file cannot be opened, read or written; the words say why.  It may "
     "be tried again.",
     NULL},
    {"memory.request", "what the memory cannot do",
     "The words say what it takes.", NULL},
    {"memory.sql", "the memory's database refuses",
     "The words are SQLite's.  Tell the author of the memory.", NULL},
    {"memory.timeout", "the memory took longer than the node may",
     "The node's timeout was over before the deployment's memory answered.",
     "timeout: 30s\n"},
    {"model.auth", "the server does not know the key",
     "It answered 401 or 403.  Look at api_key of the alias, and whether its "
     "secret is what the server expects.",
     "# mortise.yaml\n"
     "models: {default: {provider: openai, api_key: secret://openai}}\n"},
    {"model.connect", "no connection to the model's server",
     "Nobody listens at base_url, or the provider may not go there (then the "
     "class is permanent).  It may be tried again.",
     NULL},
    {"model.context", "the request is too long for the model",
     "Its window is smaller than what was said.  A gmi node leaves out the "
     "older half by itself, then more of it, and fails of this where that is "
     "not enough or nothing is left that could be left out.",
     NULL},
    {"model.empty", "a model's reply has nothing in it",
     "It ended without a text, a call of a tool or a refusal; what it reasoned "
     "is not its answer.  Another try may help.  A gmi node that acts tells "
     "the "
     "model so and asks once more by itself.",
     NULL},
    {"model.failed", "a provider failed and said nothing more",
     "The provider named no code.  The words are its.", NULL},
    {"model.not_found", "the server has no such model",
     "Look at `model` and base_url of the alias: what the server calls it, and "
     "the path with its version.",
     NULL},
    {"model.overloaded", "the server has too much to do",
     "It answered 503 or 529.  It may be tried again, no sooner than it said.",
     NULL},
    {"model.protocol", "a reply that is none",
     "What came is not what the protocol says, or not a reply of "
     "mortise.model/1.  Is base_url that of the API that the provider speaks?",
     NULL},
    {"model.provider", "what a model said before is not taken back",
     "The conversation has parts that only their server understands "
     "(reasoning, say), and it refuses them.",
     NULL},
    {"model.quota", "nothing is left to spend",
     "The account behind the key has used up what it may.", NULL},
    {"model.rate_limit", "too many requests",
     "It answered 429.  It may be tried again, no sooner than it said.",
     "retry_policy: {max_attempts: 4, delay: 2s, retry_on: [transient]}\n"},
    {"model.request", "a request that the server or the host refuses",
     "The words say what is wrong with it: an unknown alias, an effort, a "
     "schema or an `extra` that this model does not take.",
     NULL},
    {"model.server", "the server failed",
     "It answered 500, 502 or 504.  It may be tried again.", NULL},
    {"model.stream", "a reply broke off",
     "The connection ended in the middle of it.  It may be tried again.", NULL},
    {"model.timeout", "a model did not answer in time",
     "The alias's `timeout` passed, or its `idle_timeout` without a byte.",
     "# mortise.yaml\n"
     "models: {default: {provider: openai, timeout: 5m, idle_timeout: 2m}}\n"},
    {"no_memory", "memory ran out in a plugin", "It may be tried again.", NULL},
    {"no_result", "an agent came to its end and reported nothing",
     "A gmi node with reports and an output_schema, or a child whose task has "
     "a "
     "result_schema, gives what its model says with report_result.  The model "
     "ended without it, was told so, and ended again.  Say in the instructions "
     "what the result is to be, or ask another model.",
     NULL},
    {"no_space", "the disk is full", "Make room, and try again.", NULL},
    {"no_value", "a name of a template has no value",
     "`values` of text/template has nothing of that name.", NULL},
    {"not_answered", "it asks, and nobody answered",
     "What a command called asks a person, and nobody is at its terminal, or "
     "said anything.  Call it at a terminal, or from a graph, where the "
     "question "
     "waits for an answer.",
     NULL},
    {"not_dir", "not a directory", "The path leads to something else.", NULL},
    {"not_file", "not a file", "The path leads to something else.", NULL},
    {"not_found", "nothing is there", "The path names no file or directory.",
     NULL},
    {"not_listed", "a template gave what its allowlist lacks",
     "A template says which model a node asks, or which operation it calls, "
     "and "
     "gave none of those that the graph lists.  The words have the value and "
     "the "
     "list.",
     "llm: {provider_id: \"${input.size}\", allowlist: [small, large]}\n"},
    {"not_text", "not a text", "The file is not UTF-8: say encoding: base64.",
     "args: {path: picture.png, encoding: base64}\n"},
    {"outside_roots", "a path outside of what the file plugin may use",
     "Its config has `roots` and `writable`; all else is out of reach, "
     "whatever "
     "links there are.",
     "# mortise.yaml\n"
     "plugins: {config: {file: {roots: [./data]}}}\n"},
    {"plan", "a plan that cannot run",
     "A model planned with `mortise plan`, was told what is wrong as often as "
     "--max-replans says, and its last plan has findings still; the words are "
     "those.  Say the goal otherwise, allow more attempts, or ask another "
     "model.",
     NULL},
    {"planner", "a planner said nothing that it could mean",
     "An operation or a model that is a gmi node's planner gives {done: true} "
     "or {done: false, message: ...}, and this one did not, or failed.",
     NULL},
    {"plugin", "a plugin cannot be called",
     "It is not there, does not come up, is quarantined, or does not let go of "
     "an earlier call; the words say which.  `mortise doctor` looks at all of "
     "them.  One that may come up when it is tried again has said so by a code "
     "of its own.",
     NULL},
    {"reducer", "a reducer cannot reduce what was written",
     "The value does not fit (a text to `sum`, say), or the reducer's "
     "expression failed.",
     NULL},
    {"refusal", "the model would not",
     "It refused what it was asked.  The words, if it said any, are its.",
     NULL},
    {"registry.protocol", "what is no index of tools",
     "The server's answer is neither that of an MCP registry nor a list of "
     "{name, description}.",
     NULL},
    {"rejected", "a person said no",
     "An approval was rejected; the words say by whom, and why.", NULL},
    {"reply", "a reply that fits nothing",
     "A model called a tool though the node offers none, or its reply ended "
     "for "
     "a reason that is unknown.",
     NULL},
    {"route", "no edge can be taken",
     "A router chose a node that it does not declare, or an edge leads where "
     "it "
     "cannot.",
     NULL},
    {"schema", "a value that its schema refuses",
     "Arguments, an output, a reply, a field of the state or the state at the "
     "end are not what was declared; the words say where, and what was "
     "expected.",
     NULL},
    {"stagnation", "a model's turns come to nothing new",
     "Three turns in succession came to what others had come to before.  Say "
     "in the instructions when it is done, or give it other tools.",
     NULL},
    {"stopped", "a finaliser would have waited",
     "The graph was stopped, and a node with join: settled ran as its last "
     "act. "
     "Nobody waits for such a node: what would ask a person, or wait for a "
     "time, "
     "fails.",
     NULL},
    {"suspended", "a plugin waits for nothing",
     "It let go as if an answer were to come, and has asked for none.  That is "
     "the plugin's mistake.",
     NULL},
    {"task", "what was asked for a child was refused",
     "A model with subagents asked for something that cannot be: a cap of "
     "limits.spawn is reached, there is no such task, it is over, or makes "
     "another attempt; the words begin with the host's code.  With "
     "tool_errors: "
     "fail that is the node's failure, otherwise its model is told.  Or the "
     "attempt that reports is not the newest.",
     NULL},
    {"task_failed", "a child did not succeed",
     "A model with subagents waited for a task that failed or was cancelled, "
     "and tool_errors: fail makes that the node's failure; the words have the "
     "child's own code.  `mortise show` names the child's run.",
     NULL},
    {"timeout", "time ran out",
     "Nobody answered within a human node's `wait`; the run, or a subgraph, "
     "was "
     "active for longer than its limit; or a plugin's own bound of time "
     "passed.",
     "approve: {type: human, prompt: Go?, wait: 48h, on_timeout: reject, next: "
     "END}\n"},
    {"timeout.call", "an attempt took longer than its timeout",
     "The words say which one it was, the node's or the operation's.  Its time "
     "is active time; waiting for people does not count.  Give the node a "
     "longer `timeout`; retry_policy may try again (its class is timeout).",
     "timeout: 10m\n"},
    {"timeout.idle", "a plugin gave no sign of life",
     "For `idle` of its manifest it neither emitted nor asked anything, nor "
     "looked whether it was cancelled.",
     NULL},
    {"timeout.start", "a plugin took too long to start",
     "Its create() returned too late.  It may be tried again.", NULL},
    {"timeout.unresponsive", "a plugin did not let go of a call",
     "It was told to stop and went on.  It is quarantined, since nobody can "
     "take a thread away from it; `mortise plugin unquarantine` lets it back.",
     NULL},
    {"too_large", "larger than a plugin takes",
     "A file, or a result, is beyond the plugin's bound (max_read of the file "
     "plugin's config, say).",
     NULL},
    {"type", "a value of another type than an edge needs",
     "map.over gives no list, or discovery.query no string.", NULL},
    {"unknown_tool", "a tool of that name is not offered",
     "A model called what its node does not have.  It is told so, with the "
     "names that there are.",
     NULL},
    {"unscripted", "a test has no answer for a call",
     "In `mortise test` alone: see E0903.", NULL},
    {"unsigned_plugin", "a plugin that nobody signed",
     "A warning of a run, not a failure: it uses a plugin of plugins.dev, for "
     "good.",
     NULL},
    {"unsupported", "not on this system",
     "The system under the plugin, or the library that it uses, cannot do "
     "that.",
     NULL},
    {"usage", "more was used than the manifest says, or it is unclear how much",
     "A warning of an execution, not a failure.  A call reported more than was "
     "reserved for it, of something that a budget counts: it counts all the "
     "same.  Or a call, or a model's server, reported an amount that is no "
     "number from 0: then what was reserved for the call counts, and the sums "
     "of `mortise show` have `unclear: true`.",
     NULL},
    {"voice.answer", "what is no answer to speech",
     "A server's answer is no transcription, or no sound (WAV); or the host "
     "refused to be asked.  The words say which.",
     NULL},
    {"voice.audio", "what is no sound, or none that is taken",
     "WAV files are PCM of 8, 16, 24 or 32 bits and of 8 to 48 kHz; .pcm and "
     ".raw are samples of 16 bits, 16 kHz, one channel.",
     NULL},
    {"voice.busy", "a server for speech is not there, or busy",
     "It may be tried again.", NULL},
    {"voice.config", "a deployment does not have what a voice node asks for",
     "The words say what is missing: a directory of audio files, a server, a "
     "model, a language.",
     "# mortise.yaml\n"
     "plugins: {config: {voice: {directory: audio}}}\n"},
    {"voice.line", "a terminal is not there, or breaks its rules",
     "It listens on the socket that audio_in or audio_out names, and sends and "
     "takes frames as docs/voice.md has them.  It may be tried again.",
     NULL},
    {"voice.model", "the model of a conversation does not answer",
     "Its provider failed, and those of llm.fallback; the words are the last "
     "one's.",
     NULL},
    {"voice.server", "a server for speech refuses",
     "The words have its status, and what it says of why.", NULL},
    {"withdrawn", "who asked did not wait any longer",
     "What a command called asked a person, and gave up before there was an "
     "answer.",
     NULL},
};

const size_t mortise_n_error_codes =
    sizeof mortise_error_codes / sizeof mortise_error_codes[0];
