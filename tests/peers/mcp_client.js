// mcp_client.js URL -- what the conformance suite of MCP takes for a client: a
// graph that calls what the scenario is about, run by the command.
//
// MORTISE, TESTS and WORK are as in peers.sh; the suite adds which scenario it is
// (MCP_CONFORMANCE_SCENARIO) and what that gives a client (.._CONTEXT).  What a
// person would do is done here: a page that a question names is opened, and the
// address that it leads to is the answer; a form is filled with its defaults.
// It ends with 0 unless a run fails that should not.
"use strict";
const { spawn } = require("node:child_process");
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
    case "json-schema-2020-12-preservation":
        return { runs: [[list, call("json_schema_echo",
            { schema: "${artifacts.n0.tools[0].input_schema}" })]] };
    case "auth/authorization-server-migration":
        return { runs: [[list, call("test-tool"), call("test-tool")]] };
    default:
        return { runs: [scenario.startsWith("auth/") ? [list, call("test-tool")] : [list]] };
    }
}

// ---- files -------------------------------------------------------------------

const q = JSON.stringify; // JSON is YAML

const issuers = [];

function auth() {
    if (!scenario.startsWith("auth/"))
        return "";
    const own = context.client_id !== undefined
        ? { client_id: context.client_id, client_secret: "secret://own",
            grant: scenario.includes("client-credentials") ? "client_credentials" : undefined }
        : { client_metadata_url: "https://conformance-test.local/client-metadata.json" };
    return `      auth: ${q({ ...own, issuers: issuers.length > 0 ? issuers : undefined, redirect_uri: "http://127.0.0.1:8484/callback" })}\n`;
}

function writeDeployment() {
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(deployment,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: conformance}\n" +
        `trust: {dir: ${q(`${TESTS}/trust.d`)}}\n` +
        `plugins: {path: [${q(`${TESTS}/plugins`)}]}\n` +
        "store: {path: ./store}\nsecrets: {own: {env: OWN_SECRET}}\n" +
        `tools:\n  mcp:\n    s:\n      url: ${q(url)}\n      unpinned: true\n${auth()}`);
}

function writeGraph(name, steps) {
    const nodes = steps.map((s, i) => `  n${i}: {type: tool, tool: ${s.tool}, ` +
        `args: ${q(s.args)}, next: ${i + 1 < steps.length ? `n${i + 1}` : "END"}}\n`);
    const file = path.join(dir, `${name}.yaml`);

    fs.writeFileSync(file, "apiVersion: mortise/v1\nkind: Graph\n" +
        `metadata: {name: ${name}}\nstart: n0\nnodes:\n${nodes.join("")}`);
    return file;
}

// ---- the command ---------------------------------------------------------------

// To its end.  Each scenario has a state directory of its own: the suite's servers may
// get a port that an earlier one had, and tokens are kept by the server's URL.
function mortise(...args) {
    return new Promise((done, fail) => {
        const p = spawn(MORTISE, args, { cwd: dir, stdio: ["ignore", "pipe", "pipe"], env: {
            ...process.env, MORTISE_DEPLOYMENT: deployment, XDG_STATE_HOME: path.join(dir, "state"),
            OWN_SECRET: context.client_secret || "none" } });
        let out = "", err = "";

        p.stdout.on("data", (text) => { out += text; });
        p.stderr.on("data", (text) => { err += text; });
        p.on("error", fail);
        p.on("close", (status, signal) => {
            console.log(`$ mortise ${args.join(" ")}\n${out}${err}-> ${status ?? signal}`);
            done({ status: status ?? 128, out, err });
        });
    });
}

// Where a page leads to, as a browser would be led.
function open(page) {
    return new Promise((done, fail) => http.get(page, (res) => {
        res.resume();
        if (res.headers.location)
            done(res.headers.location);
        else
            fail(new Error(`${page}: ${res.statusCode}, which leads nowhere`));
    }).on("error", fail));
}

async function answerTo(question) {
    const form = question.schema.properties.answer.properties;

    if (question.payload.mode === "authorization")
        return { redirect: await open(question.payload.url) };
    return Object.fromEntries(Object.entries(form)
        .map(([key, p]) => [key, p.default ?? (p.type === "boolean" ? true : "x")]));
}

// Answer what is asked, and go on with the run if `then` says so; the exit code,
// or undefined where nothing was asked.
async function settle(run, ...then) {
    const asked = (await mortise("inbox", run, "--json")).out.trim();

    if (asked === "")
        return undefined;
    const question = JSON.parse(asked.split("\n")[0]);
    const value = { approved: true, answer: await answerTo(question) };
    return (await mortise("answer", run, question.id, "--value", q(value), ...then)).status;
}

const later = (ms) => new Promise((go) => setTimeout(go, ms));

// A call of 2025-11-25 is kept until its question is answered: that is done beside
// the command that runs it.
async function start(name, steps) {
    const running = mortise("run", writeGraph(name, steps), "--id", name);
    let over = false;

    running.then(() => { over = true; });
    for (let answered; !over && answered === undefined;) {
        await later(300);
        if (scenario.startsWith("elicitation") && !over)
            answered = await settle(name, "--no-continue");
    }
    return running;
}

// The suite's authorization servers are none that anybody named before: the person
// who is told so, and trusts them, adds them.
async function finish(name, steps) {
    let r = await start(name, steps);

    for (let i = 0; i < 12; i++) {
        const wanted = r.err.concat(r.out).match(/add "([^"]+)" to tools\.mcp\.s\.auth\.issuers/);

        if (r.status === 4) {
            r = { status: await settle(name) ?? 11, out: "", err: "" };
            if (r.status === 1)
                r.out = (await mortise("why", name)).out.replace(/\s+/g, " ");
        } else if (r.status === 1 && wanted !== null && !issuers.includes(wanted[1])) {
            issuers.push(wanted[1]);
            writeDeployment();
            r = await mortise("resume", name);
        } else {
            break;
        }
    }
    return r.status;
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
