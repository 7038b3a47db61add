/* error_codes.c -- explanations of the error codes of runs.
 *
 * An error in a run has a `code`, in the event `node_failed`, in `show` and in
 * on_error; retry_on matches it.  Its message describes the single case; this
 * table describes the code in general and what to do.  Plugins of others may
 * have codes of their own, which their authors document.
 * scripts/error-codes.sh finds the codes in the sources, and a test checks
 * that none is missing here.
 */
#include "cli/error_codes.h"

const struct mortise_code mortise_error_codes[] = {
    {"bad_json", "the answer is not JSON",
     "The server's answer is not valid JSON.  To get the answer as a text, set "
     "`as: text` for http/get.",
     "args: {url: \"${input.url}\", as: text}\n"},
    {"bad_output", "a plugin emitted invalid JSON",
     "The engine cannot parse the output or the update that the plugin "
     "emitted.  This is a bug of the plugin: report it to its author.",
     NULL},
    {"bad_pattern", "a pattern that does not compile",
     "The regular expression is not valid.  The message names the position.",
     NULL},
    {"bad_template", "an invalid template",
     "In a template of text/template, a tag or a section is not closed, or a "
     "closing tag closes no open section.",
     NULL},
    {"budget", "a budget is used up",
     "The next call could exceed a limit of `budget`, and the graph sets "
     "`on_exceeded: fail`.  Raise the limit.  Or set `on_exceeded: pause`, so "
     "that a person can raise the limit during the run.",
     "budget: {usd: 0.50, on_exceeded: pause}\n"},
    {"busy", "a file is in use",
     "Another process uses a file that the file plugin needs.  A retry may "
     "succeed.",
     NULL},
    {"cancelled", "the call or the run was cancelled",
     "Somebody cancelled the run, another branch won a race, or a command such "
     "as an update or a goto stopped the call.  The operation itself did not "
     "fail.",
     NULL},
    {"compaction", "an output was cut because its compaction failed",
     "`compaction` shortens a long output before a leaf gets it.  The "
     "compaction failed, for the reason in the message.  The leaf got only the "
     "beginning of the output.  If the compacted text was too long, the leaf "
     "got the beginning of the compacted text.  The run continues.",
     NULL},
    {"config", "a plugin rejects its config",
     "The plugin cannot work with the config that the deployment gives it.  "
     "The message names the cause.",
     NULL},
    {"conflict", "two parallel writes to one path",
     "Parallel branches wrote the same path, and this path has no reducer.  "
     "Declare a reducer for the path: `concat` or `merge` keeps what both "
     "branches wrote, and `last` keeps one of the two.  Or let the branches "
     "write to different paths.",
     "state: {reducers: {scratch.notes: concat}}\n"},
    {"context", "a reply was cut because the model's window is full",
     "The conversation and the reply do not fit into the model's window, even "
     "without the older half of the conversation.  Shorten the prompt, lower "
     "the `max_output` of a tool, or use a model with a larger window.",
     NULL},
    {"conversation", "the conversation cannot be stored",
     "The engine cannot store the new messages of the node's conversation.  "
     "The conversation would become too large, or the stored value is not a "
     "conversation.  The message names the cause.",
     NULL},
    {"denied", "not permitted",
     "The operating system or the permissions in the deployment do not allow "
     "what the plugin tried to do.",
     NULL},
    {"determinism", "a plugin asked for something else than before",
     "After a re-entry (the engine calls the plugin again after an "
     "interruption), the plugin did not repeat its recorded requests to the "
     "host.  Between these requests, a plugin must depend only on its input "
     "and on the host's answers.  This is a bug of the plugin.",
     NULL},
    {"discovery.bad_answer", "a discovered tool is not on the allowlist",
     "The answer of the deployment's discovery contains a tool that is not on "
     "the node's allowlist, or the format of the answer is invalid.  The "
     "engine rejects the whole answer.",
     NULL},
    {"discovery.failed", "discovery failed",
     "No discovery plugin of the deployment answered.  The message comes from "
     "the first plugin, or reports that no plugin is configured.  With "
     "`fallback: error` in discovery_policy, the node fails.  Otherwise the "
     "node gets its whole allowlist.",
     "discovery_policy: {query: \"${input.text}\", fallback: all}\n"},
    {"discovery.nothing", "discovery found nothing, and fallback is error",
     "No tool on the node's allowlist matches the query.  Set `fallback: all` "
     "to offer the whole allowlist instead.",
     "discovery_policy: {query: \"${input.text}\", fallback: all}\n"},
    {"discovery.query", "the query of a discovery edge failed",
     "The expression of the query failed or does not give a string.  The run "
     "follows the fallback of the edge.",
     "edges: [{from: a, discovery: {query: \"${output.text}\", fallback: "
     "b}}]\n"},
    {"discovery.timeout", "discovery took longer than the node's timeout",
     "The node's timeout passed before the deployment's discovery answered.  "
     "Raise `timeout`.",
     "timeout: 30s\n"},
    {"exists", "the file already exists",
     "With `mode: create`, file/write only creates new files.  `mode: replace` "
     "replaces a file.",
     NULL},
    {"expression", "an expression cannot be evaluated",
     "An expression in a condition, in `outputs`, in `${...}` or in "
     "on_error.value failed with the values of this run.  The message names "
     "the place in the file.  Use has() or a default value for members that "
     "may be absent.",
     "when: has(output.score) && output.score > 0.8\n"},
    {"failed", "a plugin failed without a code",
     "The call failed, and the plugin gave no code.  The message comes from "
     "the plugin.",
     NULL},
    {"filter", "a server removed a part of the reply",
     "The server of the model filtered the reply.  A retry seldom helps, but "
     "another model may help. llm.fallback does not apply to filtered replies.",
     NULL},
    {"exec.denied", "a program that may not run",
     "The deployment's `programs` does not define a program of this name.  Or "
     "the operation only reads, such as exec/look, and the program is not "
     "declared with `reads: true`.  Or the plugin's permissions.exec does not "
     "include the program.",
     "# mortise.yaml\n"
     "programs: {jq: {path: /usr/bin/jq, reads: true}}\n"},
    {"exec.exit", "a program exited with a code other than 0",
     "The message contains the exit code and the end of stderr, and "
     "`error.exit_code` is the exit code.  The error is permanent.  To retry "
     "it, list exec.exit in retry_on, and select exit codes with `when`.  With "
     "`any_exit: true`, such an exit is not an error, and the output contains "
     "the exit code.",
     "retry_policy: {max_attempts: 3, retry_on: [exec.exit], when: "
     "error.exit_code == 75}\n"},
    {"exec.failed", "a program failed", "The message names the cause.", NULL},
    {"exec.not_started", "a program was not started",
     "The message names the cause: the file does not exist, it is not "
     "executable, mortise-worker is not installed, or this kernel cannot "
     "restrict a program's access to files.",
     NULL},
    {"exec.signal", "a program was killed by a signal",
     "The program crashed, or somebody killed the program or mortise-worker.  "
     "Perhaps the limit `memory` of the program in the deployment is too "
     "small.",
     NULL},
    {"exec.timeout", "a program took too long",
     "The call's timeout_ms or the node's timeout passed.  The program and all "
     "processes that it started were killed.",
     "retry_policy: {max_attempts: 3, retry_on: [timeout]}\n"},
    {"exec.too_large", "a program's output is too large",
     "The program wrote more than max_output (default 1 MiB) to stdout and was "
     "killed.",
     "args: {program: git, args: [log], max_output: 8388608}\n"},
    {"guardrail", "a guardrail rejected a value",
     "An input, an output or a decision violates a guardrail, and the graph "
     "sets `on_violation: block`.  The event guardrail_result names the "
     "guardrail and the reason.",
     NULL},
    {"http.404", "the server answered with an error (http.400 to http.599)",
     "The number in the code is the server's status, which `error.status` also "
     "contains. 408, 425, 429 and every status from 500 are transient: all "
     "attempts that the argument `retries` allows have failed, but a "
     "retry_policy can start a new call (docs/http.md).  All other statuses "
     "are permanent.  A permanent status is retried only if retry_on lists its "
     "code.  With `any_status: true`, the answer is the output and not an "
     "error.",
     "retry_policy: {max_attempts: 3, retry_on: [transient, http.404]}\n"},
    {"http.cancelled", "a request was cancelled",
     "The call that made the request was cancelled.  See `cancelled`.", NULL},
    {"http.denied", "a request that is not permitted",
     "Neither the plugin's permissions.net nor its config in the deployment "
     "permits this host and port.  Or the name resolves to a private network, "
     "and the entry that permits the host does not contain `private`.",
     "# mortise.yaml\n"
     "plugins: {config: {http: {allow: [\"https://api.example.com\"]}}}\n"},
    {"http.failed", "a request failed", "The message names the cause.", NULL},
    {"http.invalid", "an invalid request",
     "The URL, the method or a header is not valid in HTTP.", NULL},
    {"http.loop", "pages that link in a circle",
     "http/pages got the URL of a page that it had already requested.  The "
     "last page of the list must not link to another page.  Check the path in "
     "`next`.",
     NULL},
    {"http.no_items", "the answer is not a page of a list",
     "The path in `items` of http/pages does not lead to a list, or the path "
     "in `next` leads to neither text nor a number. http/get shows the "
     "server's answer.",
     "args: {url: \"${input.url}\", items: /data}\n"},
    {"http.other_origin", "the next page has another origin",
     "http/pages requests only pages with the scheme, host and port of its "
     "`url`, because its headers may contain credentials.  If the server "
     "redirects to another origin, set `url` to the new address.",
     NULL},
    {"http.timeout", "a request was not answered in time",
     "The timeout_ms of the request passed.  Raise timeout_ms, or retry with "
     "retry_policy (the class is timeout).",
     "retry_policy: {max_attempts: 3, retry_on: [timeout]}\n"},
    {"http.too_many", "a list that is too long",
     "The list has more than 100 pages, and the call of http/pages does not "
     "set max_pages.  Or the items of the list exceed the size limit of an "
     "output.",
     "args: {url: \"${input.url}\", max_pages: 1000}\n"},
    {"http.unreachable", "no connection",
     "The host name is unknown, nothing listens on the port, or the connection "
     "broke before the request was sent.  A retry may succeed.",
     NULL},
    {"in_doubt", "it is unknown whether an effect happened",
     "A call with an effect was interrupted.  Then `on_in_doubt: fail` "
     "applied, or a person chose `mortise resolve --fail`.  A retry_policy "
     "never repeats the call.  See E_IN_DOUBT.",
     NULL},
    {"interrupted", "a signal interrupted the call",
     "A signal such as Ctrl-C stopped a command that calls an operation "
     "(`mortise plugin call`, `mortise mcp`).  The call ended with the "
     "command.",
     NULL},
    {"invalid", "arguments or a config that a plugin rejects",
     "The message states what the plugin expects.", NULL},
    {"io", "an error of the operating system",
     "The message comes from the operating system.", NULL},
    {"length", "a reply was cut at max_tokens",
     "The reply reached the node's max_tokens.  Raise max_tokens, or ask for a "
     "shorter reply.",
     "max_tokens: 2000\n"},
    {"limit", "a limit was exceeded",
     "The state is larger than limits.state, a value is nested too deep, or a "
     "limit of the plugin was exceeded.  The message names the limit.",
     "limits: {state: 16MiB}\n"},
    {"loop", "a loop that does not end as it should",
     "The model of a gmi node called the same tools with the same arguments "
     "three times in a row.  Or, in one visit of a loop, the run took both an "
     "edge back into the loop and an edge out of it.",
     NULL},
    {"max_iterations", "a model did not finish within its turns",
     "The model gave as many replies as max_internal_iterations allows.  The "
     "last of these replies still calls tools, or does not match the "
     "output_schema.  The message contains the text that the model wrote so "
     "far.",
     "max_internal_iterations: 20\n"},
    {"mcp.auth", "an MCP server requires authorization",
     "The deployment has no `auth` for the server, or a person rejected the "
     "request for authorization.",
     "# mortise.yaml\n"
     "tools: {mcp: {remote: {url: https://mcp.example.com/mcp, auth: "
     "{client_id: abc}}}}\n"},
    {"mcp.drift", "a tool differs from its pin",
     "The server's definition of the tool differs from mortise.lock, or the "
     "server no longer has the tool.  Review the difference with `mortise mcp "
     "pin SERVER --check`.  Accept it with `mortise mcp pin SERVER`.",
     NULL},
    {"mcp.failed", "an MCP call cannot be made", "The message names the cause.",
     NULL},
    {"mcp.lost", "the connection to an MCP server broke",
     "The server's program exited, or the network failed.  A call gets this "
     "code if it was not sent, or if its tool only reads or is idempotent.  A "
     "retry may succeed.  Every other call in flight is in doubt instead.",
     "retry_policy: {max_attempts: 3, retry_on: [transient]}\n"},
    {"mcp.not_pinned", "the tool is not pinned",
     "`mortise mcp pin SERVER` pins the server's tools.  Graphs then call them "
     "as mcp/SERVER/TOOL.  The operation mcp/call calls tools without a pin "
     "only if the server has `unpinned: true` and none of its tools is pinned.",
     "# mortise.yaml\n"
     "tools: {mcp: {scratch: {command: [./server], unpinned: true}}}\n"},
    {"mcp.not_started", "an MCP server could not be started or reached",
     "The message contains the end of the program's stderr.  `mortise doctor` "
     "starts each server once and reports the errors.",
     NULL},
    {"mcp.protocol", "an MCP server violates the protocol",
     "The server's answer is invalid or cannot be stored, or the server speaks "
     "no supported version of the protocol.",
     NULL},
    {"mcp.refused", "an MCP server answered with an error",
     "The message comes from the server.  If the answer leaves open whether an "
     "effect happened, the run is in doubt instead.",
     NULL},
    {"mcp.task", "a task of an MCP server ended without a result",
     "The tool runs as a task of the server.  The task failed, the server "
     "cancelled it, or the server no longer knows it.",
     NULL},
    {"mcp.timeout", "an MCP server did not answer in time",
     "The server sent neither a complete answer nor progress during "
     "tools.mcp.SERVER.timeout.",
     "# mortise.yaml\n"
     "tools: {mcp: {files: {command: [./server], timeout: 5m}}}\n"},
    {"mcp.tool_error", "a tool of an MCP server failed",
     "The tool reported the error itself (isError).  The message comes from "
     "the tool.",
     NULL},
    {"mcp.unknown_tool", "an MCP server has no such tool",
     "`mortise mcp inspect SERVER` lists the server's tools.", NULL},
    {"memory", "memory ran out",
     "The process had no memory for a value that a plugin emitted.  A retry "
     "may succeed.  If a run is paused with this code, the cause is another "
     "one: the memory plugin of the deployment rejects a trace.  `mortise why "
     "RUN` prints the message of the plugin.",
     NULL},
    {"memory.bad_answer", "an invalid answer of the memory",
     "The deployment's memory returned an invalid list of traces, or more "
     "traces than requested.  Report this to the plugin's author.",
     NULL},
    {"memory.busy", "another process uses the memory",
     "Another process writes to the memory or has locked its file.  A retry "
     "may succeed.",
     NULL},
    {"memory.corrupt", "the memory's file is damaged",
     "The file is damaged, or another program wrote it.  Mortise did not "
     "change the file.  Move it away, and import an earlier export.",
     "mortise memory import traces.jsonl\n"},
    {"memory.failed", "the memory failed",
     "The deployment's memory could not read or write, and gave no code.  If "
     "the class of the error allows a retry, retry_policy retries the call.",
     "retry_policy: {max_attempts: 3}\n"},
    {"memory.full", "no space for the memory", "The disk or its quota is full.",
     NULL},
    {"memory.io", "the memory's file cannot be used",
     "The file cannot be opened, read or written.  The message names the "
     "cause.  A retry may succeed.",
     NULL},
    {"memory.request", "a request that the memory does not support",
     "The message states what the memory accepts.", NULL},
    {"memory.sql", "an error of the memory's database",
     "The message comes from SQLite.  Report it to the author of the memory "
     "plugin.",
     NULL},
    {"memory.timeout", "the memory took longer than the node's timeout",
     "The node's timeout passed before the deployment's memory answered.  "
     "Raise `timeout`.",
     "timeout: 30s\n"},
    {"model.auth", "the server rejects the key",
     "The server answered 401 or 403.  Check `api_key` of the alias, and the "
     "value of the secret that it names.",
     "# mortise.yaml\n"
     "models: {default: {provider: openai, api_key: secret://openai}}\n"},
    {"model.connect", "no connection to the model's server",
     "If nothing listens at base_url, a retry may succeed.  If the provider "
     "has no permission to connect to base_url, the error is permanent.",
     NULL},
    {"model.context", "the request is too long for the model",
     "The conversation is longer than the model's window.  A gmi node "
     "automatically omits the older half of the conversation, then more.  The "
     "node fails with this code if the rest is still too long, or if nothing "
     "can be omitted.",
     NULL},
    {"model.empty", "a model's reply is empty",
     "The reply has no text, no tool call and no refusal.  Reasoning, images "
     "and files do not count as an answer: the output of a node is text or "
     "JSON.  A retry may help.  A gmi node with tools automatically asks the "
     "model once more.",
     NULL},
    {"model.failed", "a provider failed without a code",
     "The provider gave no code.  The message comes from the provider.", NULL},
    {"model.not_found", "the server does not have the model",
     "Check `model` of the alias: it must be the server's name for the model.  "
     "Check that the path of base_url includes the version of the API.",
     NULL},
    {"model.overloaded", "the server is overloaded",
     "The server answered 503 or 529.  A retry may succeed, but not before the "
     "time that the server gave.",
     NULL},
    {"model.protocol", "an invalid reply",
     "The answer violates the protocol of the server's API or of "
     "mortise.model/1.  Check that base_url is the address of the API that the "
     "provider uses.",
     NULL},
    {"model.provider", "the server rejects earlier parts of the conversation",
     "The conversation contains parts, such as reasoning, that another server "
     "made.  Only that server understands these parts, so this server rejects "
     "them.",
     NULL},
    {"model.quota", "the account's quota is used up",
     "The account to which the API key belongs has spent its quota.", NULL},
    {"model.rate_limit", "too many requests",
     "The server answered 429.  A retry may succeed, but not before the time "
     "that the server gave.",
     "retry_policy: {max_attempts: 4, delay: 2s, retry_on: [transient]}\n"},
    {"model.request", "the server or the host rejects the request",
     "The message names the cause: an unknown alias, or an `effort`, a schema "
     "or an `extra` that this model does not support.",
     NULL},
    {"model.server", "the server failed",
     "The server answered 500, 502 or 504.  A retry may succeed.", NULL},
    {"model.stream", "a reply broke off",
     "The connection closed in the middle of the reply.  A retry may succeed.",
     NULL},
    {"model.timeout", "a model did not answer in time",
     "The alias's `timeout` passed, or the server sent nothing for the alias's "
     "`idle_timeout`.",
     "# mortise.yaml\n"
     "models: {default: {provider: openai, timeout: 5m, idle_timeout: 2m}}\n"},
    {"no_memory", "memory ran out in a plugin",
     "The plugin could not allocate memory.  A retry may succeed.", NULL},
    {"no_result", "an agent ended without a result",
     "The model of a gmi node with `reports` and an `output_schema` must call "
     "report_result.  A child whose task has a result_schema must call it, "
     "too.  The model ended without the call, got a reminder, and ended again. "
     " Describe the result in the instructions, or use another model.",
     NULL},
    {"no_space", "the disk is full", "Free space on the disk, then retry.",
     NULL},
    {"no_value", "a name of a template has no value",
     "The argument `values` of text/template has no member of this name.",
     NULL},
    {"not_answered", "a question without an answer",
     "A command called an operation that asks a person.  Nobody is at the "
     "terminal of the command, or the person gave no answer.  Run the command "
     "at a terminal, or make the call in a graph, where the question waits for "
     "an answer.",
     NULL},
    {"not_dir", "not a directory", "The path does not lead to a directory.",
     NULL},
    {"not_file", "not a file", "The path does not lead to a file.", NULL},
    {"not_found", "no such file or directory",
     "The path names no file or directory.", NULL},
    {"not_listed", "a template's value is not on the allowlist",
     "The template of a key chooses the model that a node asks, or the "
     "operation that it calls.  The value of the template is not on the "
     "allowlist in the graph.  The message contains the value and the list.",
     "llm: {provider_id: \"${input.size}\", allowlist: [small, large]}\n"},
    {"not_text", "not a text", "The file is not UTF-8.  Set encoding: base64.",
     "args: {path: picture.png, encoding: base64}\n"},
    {"outside_roots", "a path outside the permitted directories",
     "The file plugin can read only below the directories in `roots` and "
     "`read_only` of its config, and write only below `roots`.  A symbolic "
     "link must not lead out of these directories.",
     "# mortise.yaml\n"
     "plugins: {config: {file: {roots: [./data]}}}\n"},
    {"plan", "a plan that cannot run",
     "In `mortise plan`, the model corrected its plan as often as "
     "--max-replans allows.  The last plan still has findings, which the "
     "message lists.  Reword the goal, allow more attempts, or use another "
     "model.",
     NULL},
    {"planner", "an invalid answer of a planner",
     "The planner of a gmi node (an operation or a model) must give {done: "
     "true} or {done: false, message: ...}.  This planner gave another answer, "
     "or failed.",
     NULL},
    {"plugin", "a plugin cannot be called",
     "The plugin is not installed, does not start, is quarantined, or has not "
     "returned from an earlier call.  The message names the cause.  `mortise "
     "doctor` checks all plugins.  A plugin whose config names a secret needs "
     "the value of the secret when the plugin starts.  `secrets` of the "
     "deployment defines where the value comes from, for example `secrets: "
     "{openai: {env: OPENAI_API_KEY}}`.  Set the variable before you start "
     "`mortise`.  If a plugin reports that a later start may succeed, the call "
     "fails with the plugin's own code instead.",
     NULL},
    {"reducer", "a reducer cannot combine the values",
     "The written value has the wrong type (for example, a text for `sum`), or "
     "the reducer's expression failed.",
     NULL},
    {"refusal", "the model refused",
     "The model refused the request.  If it gave a reason, the message "
     "contains the reason.",
     NULL},
    {"registry.protocol", "an invalid index of tools",
     "The server's answer is neither an answer of an MCP registry nor a list "
     "of {name, description}.",
     NULL},
    {"rejected", "a person rejected it",
     "A person rejected the request for approval.  The message names the "
     "person and the reason.",
     NULL},
    {"reply", "an unusable reply",
     "A model called a tool although the node offers no tools, or the reply "
     "ended for an unknown reason.",
     NULL},
    {"route", "no edge can be taken",
     "A router chose a node that is not among its targets, or the run cannot "
     "enter the node that an edge leads to.",
     NULL},
    {"schema", "a value that does not match its schema",
     "Arguments, an output, a reply, a field of the state or the final state "
     "do not match the declared schema.  The message has the place and what "
     "was expected.  Only a model's reply can be retried: list schema in "
     "retry_on of the gmi node or leaf, and use the execution_mode "
     "single_turn.",
     "retry_policy: {max_attempts: 3, retry_on: [schema]}\n"},
    {"stagnation", "a model's turns bring nothing new",
     "The results of three turns in a row repeated earlier results.  Describe "
     "in the instructions when the task is done, or give the node other tools.",
     NULL},
    {"stopped", "a finaliser would have to wait",
     "The graph was stopped.  Its finalisers (nodes with `join: settled`) "
     "still run, but they cannot wait: a finaliser fails if it asks a person "
     "or waits for a time.",
     NULL},
    {"suspended", "a plugin suspended without a reason",
     "The plugin returned MORTISE_S_SUSPENDED without a pending ask (a request "
     "to the host).  This is a bug of the plugin.",
     NULL},
    {"task", "a request for a child was rejected",
     "A model with subagents made a request that cannot be met.  A limit of "
     "limits.spawn is reached, the task does not exist or has ended, or the "
     "task is in another attempt.  The message begins with the error code of "
     "the host (E_...).  With `tool_errors: fail`, the node fails.  Otherwise "
     "the model gets the error.  A child also gets this code if it reports but "
     "is not the newest attempt of its task.",
     NULL},
    {"task_failed", "a child did not succeed",
     "A model with subagents waited for a task that failed or was cancelled, "
     "and `tool_errors: fail` makes the node fail.  The message contains the "
     "error code of the child task.  `mortise show` prints the id of the "
     "child's run.",
     NULL},
    {"timeout", "time ran out",
     "Nobody answered within the `wait` of a human node.  Or the run or a "
     "subgraph was active for longer than its limit.  Or a time limit of the "
     "plugin passed.",
     "approve: {type: human, prompt: Go?, wait: 48h, on_timeout: reject, next: "
     "END}\n"},
    {"timeout.call", "an attempt took longer than its timeout",
     "The message names the timeout: the node's or the operation's.  Only "
     "active time counts, not the time that a call waits for people.  Raise "
     "the node's `timeout`, or retry with retry_policy (the class is timeout).",
     "timeout: 10m\n"},
    {"timeout.idle", "a plugin showed no activity",
     "The plugin did not emit, ask or check for cancellation during the time "
     "that `idle` of its manifest allows.",
     NULL},
    {"timeout.start", "a plugin took too long to start",
     "create() of the plugin took too long.  A retry may succeed.", NULL},
    {"timeout.unresponsive", "a plugin did not return after a cancellation",
     "The engine cancelled the call, but the plugin did not return.  The "
     "plugin is quarantined, because the engine cannot stop its thread.  "
     "`mortise plugin unquarantine` ends the quarantine.",
     NULL},
    {"too_large", "larger than the plugin's limit",
     "A file or a result exceeds a limit of the plugin, such as max_read in "
     "the config of the file plugin.",
     NULL},
    {"type", "a value of the wrong type for an edge",
     "map.over is not a list, or discovery.query is not a string.", NULL},
    {"unknown_tool", "the node does not offer this tool",
     "A model called a tool that its node does not have.  The model gets this "
     "error and the names of the node's tools.",
     NULL},
    {"unscripted", "a test does not script this call",
     "This code occurs only in `mortise test`: see E0903.", NULL},
    {"unsigned_plugin", "a plugin without a signature",
     "This is a warning, not a failure.  The run uses a plugin from a "
     "directory in plugins.dev, where plugins need no signature.  Commands "
     "that show the run print the warning.",
     NULL},
    {"unsupported", "not supported on this system",
     "The operating system, or a library that the plugin uses, does not "
     "support the requested action.",
     NULL},
    {"usage", "more usage than the manifest declares, or unclear usage",
     "This is a warning of an execution, not a failure.  Either a call "
     "reported more than the engine had reserved, and the budget counts the "
     "reported amount.  Or a call or a model's server reported an amount that "
     "is negative or not a number.  Then the budget counts the reserved "
     "amount, and the sums of `mortise show` have `unclear: true`.",
     NULL},
    {"voice.answer", "an invalid answer of a speech server",
     "The server's answer is not a transcription or a sound (WAV), or the host "
     "rejected the request.  The message names the cause.",
     NULL},
    {"voice.audio", "invalid or unsupported audio",
     "WAV files must be PCM with 8, 16, 24 or 32 bits and 8 to 48 kHz. .pcm "
     "and .raw files must contain 16-bit samples at 16 kHz, one channel.",
     NULL},
    {"voice.busy", "a speech server is unreachable or busy",
     "A retry may succeed.", NULL},
    {"voice.config", "the deployment lacks something that a voice node needs",
     "The message names what is missing: a directory of audio files, a server, "
     "a model or a language.",
     "# mortise.yaml\n"
     "plugins: {config: {voice: {directory: audio}}}\n"},
    {"voice.line", "an audio terminal is missing or violates its protocol",
     "An audio terminal is the program behind a `unix:PATH` in audio_in or "
     "audio_out.  It must listen on this socket and exchange frames as "
     "docs/voice.md describes.  A retry may succeed.",
     NULL},
    {"voice.model", "the model of a conversation does not answer",
     "The provider of the model failed, and so did every model in "
     "llm.fallback.  The message comes from the last provider.",
     NULL},
    {"voice.server", "a speech server rejects the request",
     "The message contains the server's status and reason.", NULL},
    {"withdrawn", "the question was withdrawn",
     "A command called an operation that asks a person.  The plugin stopped "
     "waiting before the answer arrived.",
     NULL},
};

const size_t mortise_n_error_codes =
    sizeof mortise_error_codes / sizeof mortise_error_codes[0];
