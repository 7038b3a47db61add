// models.js -- a conversation of thirty turns, once in each format, against a
// model server made by others (aimock): tools side by side, an approval, a told
// message, reasoning parts, a hand-over.  Every request that the server saw is
// valid for the types that the provider publishes (in its own SDK), and a run
// that is killed in the middle of any turn sends the same ones, with no more
// than the one that was under way twice.
//
//     node models.js MORTISE WORK
'use strict';
const fs = require('fs');
const path = require('path');
const { spawn } = require('child_process');
const { LLMock } = require('@copilotkit/aimock');
const Ajv = require('ajv');
const { createGenerator } = require('ts-json-schema-generator');

const [mortise, work] = process.argv.slice(2);
const TURNS = 30, HANDS_OVER = 14, ASKS = 5;

// ---- what the server says ------------------------------------------------

function reply(turn) {
    const reasoning = `Turn ${turn}, then \u2026`;
    const call = (name, args, i) =>
        ({ name, arguments: JSON.stringify(args), id: `call_${turn}_${i}` });

    if (turn === TURNS - 1)
        return { content: 'All done: \u2713', reasoning };
    if (turn === HANDS_OVER)
        return { toolCalls: [call('transfer_to_b', { reason: 'enough' }, 0)], reasoning };
    if (turn === ASKS)
        return { toolCalls: [call('text__join', { parts: ['a', `${turn}`] }, 0)], reasoning };
    return {
        toolCalls: [0, 1].map((i) => call('text__hash', { text: `${turn} \u00fc ${i}` }, i)),
        reasoning,
    };
}

const dialects = {
    chat: { type: 'Chat', alias: '{provider: openai, model: gpt-5, base_url: "URL/v1", headers: {X-Test-Id: NAME}}' },
    responses: {
        type: 'Responses',
        alias: '{provider: openai, api: responses, model: gpt-5, base_url: "URL/v1", headers: {X-Test-Id: NAME}}',
    },
    messages: {
        type: 'Messages',
        alias: '{provider: anthropic, model: claude-sonnet-4-5, base_url: "URL", headers: {X-Test-Id: NAME}, '
            + 'max_tokens: 4096, thinking: {type: enabled, budget_tokens: 1024}}',
    },
};

// ---- what providers publish ------------------------------------------------

function validators() {
    const types = path.join(work, 'types.ts'), config = path.join(work, 'tsconfig.json');
    const out = {};

    fs.writeFileSync(types,
        "import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';\n"
        + "import type { ResponseCreateParams } from 'openai/resources/responses/responses';\n"
        + "import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages';\n"
        + 'export type Chat = ChatCompletionCreateParams;\n'
        + 'export type Responses = ResponseCreateParams;\n'
        + 'export type Messages = MessageCreateParams;\n');
    fs.writeFileSync(config, JSON.stringify({
        compilerOptions: {
            module: 'nodenext', moduleResolution: 'nodenext', target: 'es2022', skipLibCheck: true,
            strict: true, types: [],
        },
        files: ['types.ts'],
    }));
    fs.symlinkSync(path.join(process.env.PEERS, 'node_modules'), path.join(work, 'node_modules'));
    for (const { type } of Object.values(dialects)) {
        const schema = createGenerator({
            path: types, tsconfig: config, type, skipTypeCheck: true, additionalProperties: false,
        }).createSchema(type);
        out[type] = new Ajv({ strict: false, allErrors: true }).compile(schema);
    }
    return out;
}

// ---- runs --------------------------------------------------------------------

function deploy(dir, alias) {
    fs.mkdirSync(dir);
    fs.writeFileSync(path.join(dir, 'mortise.yaml'),
        'apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: peers}\n'
        + `store: {path: ./store}\nmodels: {default: ${alias}}\n`);
    fs.writeFileSync(path.join(dir, 'g.yaml'),
        'apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: talk, version: 1.0.0}\nstart: a\nnodes:\n'
        + ['a', 'b'].map((id) => `  ${id}:\n    type: gmi\n    instructions: You are ${id}.\n`
            + `    prompt: Begin ${id}.\n    conversation: talk\n    parallel_tools: true\n`
            + '    max_internal_iterations: 40\n    max_tokens: 4096\n'
            + '    tool_allowlist: [text/hash, {tool: text/join, ask: true}]\n'
            + (id === 'a' ? '    handoffs: [b]\n' : '') + '    next: END\n').join(''));
}

function command(dir, args, during) {
    return new Promise((resolve) => {
        const p = spawn(mortise, [...args, '--deployment', 'mortise.yaml'],
            { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
        let text = '';
        const stop = during !== undefined ? during(p) : () => {};

        p.stdout.on('data', (d) => { text += d; });
        p.stderr.on('data', (d) => { text += d; });
        p.on('close', (code) => { stop(); resolve({ code, text }); });
    });
}

// To its end, as a person would; killed once the server saw `kill` requests.
async function drive(mock, name, alias, kill) {
    const dir = path.join(work, name);
    let told = false, killed = kill === 0;
    const blow = (p) => {
        const timer = setInterval(() => {
            if (!killed && raw(mock, name).length >= kill) {
                killed = true;
                p.kill('SIGKILL');
            }
        }, 1);
        return () => clearInterval(timer);
    };

    deploy(dir, alias.replace(/URL/g, mock.url).replace(/NAME/g, name));
    let r = await command(dir, ['run', 'g.yaml', '--id', 'r'], blow);
    for (let i = 0; i < 10 && r.code !== 0; i++) {
        if (r.code === 4) {
            const ids = (await command(dir, ['inbox', 'r', '--ids'])).text.trim().split(/\s+/);

            if (!told)
                await command(dir, ['tell', 'r', 'By the way: hurry.', '--no-continue']);
            told = true;
            r = await command(dir, ['approve', ...ids], blow);
        } else if (r.code === null) {
            r = await command(dir, ['resume', 'r'], blow);
        } else {
            throw new Error(`${name}: exit code ${r.code}: ${r.text}`);
        }
    }
    if (r.code !== 0)
        throw new Error(`${name}: no end: ${r.text}`);
    return killed;
}

// ---- what is compared ----------------------------------------------------------

const requests = new Map(); // of each name, as they came on the wire

function raw(mock, name) {
    return requests.get(name) ?? [];
}

// How many replies it goes on from: each has its reasoning, in a format that
// takes that back.
function turn_of(body) {
    return body.input !== undefined
        ? body.input.filter((item) => item.type === 'reasoning').length
        : body.messages.filter((m) => m.role === 'assistant').length;
}

// What a server makes up differs from run to run.
function same(body) {
    const ids = new Map();

    return JSON.stringify(body).replace(/"((?:rs|fc|msg|resp|item|chatcmpl)[_-][\w-]+|YWltb2Nr[\w+/=]+)"/g, (_, id) => {
        if (!ids.has(id))
            ids.set(id, `"id${ids.size}"`);
        return ids.get(id);
    });
}

// The chat format that OpenAI publishes has no reasoning.  Servers that send a
// `reasoning_content` want it back, unchanged; it is taken out, and the rest must
// be valid.
function published(name, body) {
    const copy = structuredClone(body);
    const replies = (copy.messages ?? []).filter((m) => m.role === 'assistant');

    replies.forEach((m, turn) => {
        if (m.reasoning_content !== undefined && m.reasoning_content !== reply(turn).reasoning)
            throw new Error(`${name}: the reasoning of turn ${turn} went back as ${m.reasoning_content}`);
        delete m.reasoning_content;
    });
    return copy;
}

function check(name, list, valid, undisturbed) {
    const counts = new Map();

    for (const body of list) {
        if (!valid(published(name, body)))
            throw new Error(`${name}: ${JSON.stringify(valid.errors.slice(0, 5), null, 1)}\n`
                + JSON.stringify(body).slice(0, 3000));
        counts.set(same(body), (counts.get(same(body)) ?? 0) + 1);
    }
    const twice = [...counts.values()].filter((n) => n > 1);

    if (counts.size !== TURNS)
        throw new Error(`${name}: ${counts.size} different requests`);
    if (twice.length > (undisturbed ? 1 : 0) || twice.some((n) => n > 2))
        throw new Error(`${name}: requests came ${twice} times`);
    if (undisturbed) {
        const i = [...counts.keys()].findIndex((k, at) => k !== undisturbed[at]);

        if (i >= 0)
            throw new Error(`${name}: request ${i} is\n${[...counts.keys()][i]}\nand not\n${undisturbed[i]}`);
    }
    return [...counts.keys()];
}

// ---- what goes wrong ---------------------------------------------------------

// As docs/models.md has them.
const statuses = {
    400: 'model.request', 401: 'model.auth', 404: 'model.not_found', 408: 'model.timeout', 409: 'model.server',
    429: 'model.rate_limit', 500: 'model.server', 502: 'model.server', 503: 'model.overloaded',
    504: 'model.server', 529: 'model.overloaded',
};
const failures = {
    ...Object.fromEntries(Object.entries(statuses).map(([status, code]) => [`status ${status}`, code])),
    'cut short': 'model.stream',
};

function fail_in(mock) {
    for (const status of Object.keys(statuses))
        mock.on({ context: `status ${status}` },
            { error: { message: `said ${status}`, type: 'test_error' }, status: Number(status) });
    mock.on({ context: 'cut short' }, { content: 'a long reply that is cut '.repeat(20) },
        { truncateAfterChunks: 3 });
}

async function errors(at, dialect, alias) {
    const dir = path.join(work, `${dialect}-errors`);

    deploy(dir, alias.replace(/URL/g, at.url).replace(/NAME/g, `${dialect}-errors`));
    for (const [what, code] of Object.entries(failures)) {
        const id = what.replace(' ', '-');

        fs.writeFileSync(path.join(dir, 'e.yaml'),
            'apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: e, version: 1.0.0}\nstart: a\nnodes:\n'
            + `  a: {type: gmi, prompt: ${what}, next: END}\n`);
        await command(dir, ['run', 'e.yaml', '--id', id]);
        const show = JSON.parse((await command(dir, ['show', id, '--json'])).text);

        if (show.error?.code !== code)
            throw new Error(`${dialect}, ${what}: not ${code}: ${JSON.stringify(show.error)}`);
    }
    return Object.keys(failures).length;
}

// What a request is about: a failure by its words, or a turn.
function about(body) {
    const text = JSON.stringify(body.input ?? body.messages);

    return Object.keys(failures).find((what) => text.includes(`"${what}"`)) ?? `turn-${turn_of(body)}`;
}

async function main() {
    const valid = validators();
    const mock = new LLMock({ port: 0, chunkSize: 40, latency: 1, logLevel: 'silent', strict: true });
    let runs = 0, kills = 0, failed = 0;

    for (let turn = 0; turn < TURNS; turn++)
        mock.on({ context: `turn-${turn}` }, reply(turn));
    fail_in(mock);
    await mock.start();
    // The server's own journal keeps requests in one form for all; we keep bodies.
    const http = require('http');
    const front = http.createServer((req, res) => {
        const parts = [];

        req.on('data', (d) => parts.push(d));
        req.on('end', () => {
            const body = Buffer.concat(parts), name = req.headers['x-test-id'];
            const headers = { ...req.headers };

            delete headers.host;
            headers['x-aimock-context'] = about(JSON.parse(body));

            requests.set(name, [...raw(mock, name), JSON.parse(body)]);
            const on = http.request(mock.url + req.url,
                { method: req.method, headers },
                (r) => { res.writeHead(r.statusCode, r.headers); r.pipe(res); r.on('error', () => res.destroy()); });

            on.on('error', () => res.destroy());
            res.on('close', () => on.destroy());
            on.end(body);
        });
    });
    await new Promise((resolve) => { front.listen(0, '127.0.0.1', resolve); });
    const at = { url: `http://127.0.0.1:${front.address().port}` };

    for (const [dialect, { type, alias }] of Object.entries(dialects)) {
        failed += await errors(at, dialect, alias);
        await drive(at, dialect, alias, 0);
        const undisturbed = check(dialect, raw(at, dialect), valid[type]);
        const plans = Array.from({ length: TURNS }, (_, i) => i + 1);
        const worker = async () => {
            for (let k = plans.shift(); k !== undefined; k = plans.shift()) {
                const name = `${dialect}-${k}`;

                const killed = await drive(at, name, alias, k);

                kills += killed;
                check(name, raw(at, name), valid[type], undisturbed);
                runs++;
                fs.rmSync(path.join(work, name), { recursive: true });
            }
        };

        await Promise.all([worker(), worker()]);
    }
    front.close();
    await mock.stop();
    console.log(`${runs} conversations of ${TURNS} turns in ${Object.keys(dialects).length} formats, ${kills} killed; `
        + `${failed} errors`);
}

main().then(() => process.exit(0), (e) => { console.error(e.message); process.exit(1); });
