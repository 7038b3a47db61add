// mcp_client.js URL -- what the conformance suite of MCP takes for a client: a
// graph that calls what the scenario is about, run by the command.
//
// MORTISE, TESTS and WORK are as in peers.sh; the suite adds which scenario it is
// (MCP_CONFORMANCE_SCENARIO) and what that gives a client (.._CONTEXT).  What a
// person would do is done here: a page that a question names is opened, and the
// address that it leads to is the answer; a form is filled with its defaults.
// It ends with 0 unless a run fails that should not.
"use strict";
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");

const { MORTISE, TESTS, WORK } = process.env;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || "{}");
const url = process.argv[2];
const dir = path.join(WORK, version, scenario.replace(/\//g, "-"));
const deployment = path.join(dir, "mortise.yaml");

// ---- what is called ----------------------------------------------------------

const list = { tool: "mcp/list", args: { server: "s" } };
const call = (tool, args = {}) =>
    ({ tool: "mcp/call", args: { server: "s", tool, arguments: args } });

// Each of the lists is a run; one of `refused` fails, and nothing is sent.
function runs() {
    switch (scenario) {
    case "tools_call":
        return { runs: [[list, call("add_numbers", { a: 5, b: 3 })]] };
    case "elicitation-sep1034-client-defaults":
        return { runs: [[call("test_client_elicitation_defaults")]] };
    case "sse-retry":
        return { runs: [[call("test_reconnection")]] };
    case "sep-2322-client-request-state":
        return { runs: [["echo_state", "unrelated", "no_state", "no_result_type"]
            .map((name) => call(`test_mrtr_${name}`))] };
    case "http-standard-headers":
        return { runs: [[list, call("test_headers"), call("my-hyphenated-tool"),
            { tool: "mcp/read", args: { server: "s", uri: "file:///path/to/file%20name.txt" } },
            { tool: "mcp/prompt", args: { server: "s", name: "test_prompt" } }]] };
    case "http-custom-headers":
        return { runs: [[list].concat(context.toolCalls.map((c) => call(c.name, c.arguments)))] };
    case "http-invalid-tool-headers":
        return { runs: [[list, call("valid_tool", { region: "us-west1" })]],
            refused: [["empty_header", { value: "x" }], ["object_header", { data: {} }],
                ["array_header", { items: ["x"] }], ["null_header", { nil: null }],
                ["number_header", { score: 1 }],
                ["duplicate_same_case", { field1: "x", field2: "y" }],
                ["duplicate_diff_case", { field1: "x", field2: "y" }],
                ["space_in_name", { value: "x" }], ["colon_in_name", { value: "x" }],
                ["non_ascii_name", { value: "x" }], ["control_char_name", { value: "x" }]]
                .map(([name, args]) => [call(`invalid_${name}`, args)]) };
    case "auth/authorization-server-migration":
        return { runs: [[list, call("test-tool"), call("test-tool")]] };
    default:
        return { runs: [scenario.startsWith("auth/") ? [list, call("test-tool")] : [list]] };
    }
}

// ---- files -------------------------------------------------------------------

const q = JSON.stringify; // JSON is YAML

function auth() {
    if (!scenario.startsWith("auth/"))
        return "";
    const own = context.client_id !== undefined
        ? { client_id: context.client_id, client_secret: "secret://own" }
        : { client_metadata_url: "https://conformance-test.local/client-metadata.json" };
    return `      auth: ${q({ ...own, redirect_uri: "http://127.0.0.1:8484/callback" })}\n`;
}

function writeDeployment() {
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(deployment,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: conformance}\n" +
        `trust: {dir: ${q(`${TESTS}/trust.d`)}}\n` +
        `plugins: {path: [${q(`${TESTS}/plugins`)}]}\n` +
        "store: {path: ./store}\nsecrets: {own: {env: OWN_SECRET}}\n" +
        `tools:\n  mcp:\n    s:\n      url: ${q(url)}\n${auth()}`);
}

// "${" begins an expression in arguments, and none of the suite's has it.
function writeGraph(name, steps) {
    const nodes = steps.map((s, i) => `  n${i}: {type: tool, tool: ${s.tool}, ` +
        `args: ${q(s.args)}, next: ${i + 1 < steps.length ? `n${i + 1}` : "END"}}\n`);
    const file = path.join(dir, `${name}.yaml`);

    fs.writeFileSync(file, "apiVersion: mortise/v1\nkind: Graph\n" +
        `metadata: {name: ${name}}\nstart: n0\nnodes:\n${nodes.join("")}`);
    return file;
}

// ---- the command ---------------------------------------------------------------

function mortise(...args) {
    const r = spawnSync(MORTISE, args, { cwd: dir, encoding: "utf8", env: {
        ...process.env, MORTISE_DEPLOYMENT: deployment, OWN_SECRET: context.client_secret || "none" } });

    process.stdout.write(`$ mortise ${args.join(" ")}\n${r.stdout}`);
    process.stderr.write(r.stderr);
    if (r.status === null)
        throw new Error(`mortise ${args[0]}: ${r.signal}`);
    return r;
}

// Where the page leads to.
function open(page) {
    return new Promise((done, fail) => http.get(page, (res) => {
        res.resume();
        if (res.headers.location)
            done(res.headers.location);
        else
            fail(new Error(`${page}: ${res.statusCode}, which leads nowhere`));
    }).on("error", fail));
}

// All that stands in a question, by whatever key.
function* within(value) {
    yield value;
    if (value !== null && typeof value === "object")
        for (const v of Object.values(value))
            yield* within(v);
}

function defaults(question) {
    for (const v of within(question))
        if (v !== null && typeof v === "object" && v.type === "object" && v.properties)
            return Object.fromEntries(Object.entries(v.properties)
                .map(([key, p]) => [key, p.default ?? (p.type === "boolean" ? true : "x")]));
    return {};
}

async function answer(run) {
    const lines = mortise("inbox", run, "--json").stdout.trim().split("\n");
    const question = JSON.parse(lines[0]);
    const [, id] = mortise("inbox", run, "--ids").stdout.split("\n")[0].split(" ");
    let page;

    for (const v of within(question))
        page ??= typeof v === "string" ? v.match(/https?:\/\/\S+[?&]response_type=code\S*/)?.[0] : undefined;
    const value = page !== undefined ? await open(page) : { action: "accept", content: defaults(question) };
    return mortise("answer", run, id, "--value", q(value)).status;
}

async function finish(name, steps) {
    let code = mortise("run", writeGraph(name, steps), "--id", name).status;

    for (let i = 0; code === 4 && i < 10; i++)
        code = await answer(name);
    if (code !== 0)
        mortise("why", name);
    return code;
}

async function main() {
    const what = runs();
    let worst = 0;

    writeDeployment();
    for (const [i, steps] of what.runs.entries())
        worst ||= await finish(`run${i}`, steps);
    for (const [i, steps] of (what.refused || []).entries())
        if (await finish(`refused${i}`, steps) !== 1)
            worst ||= 9;
    return worst;
}

main().then((code) => process.exit(code), (e) => {
    console.error(e);
    process.exit(10);
});
