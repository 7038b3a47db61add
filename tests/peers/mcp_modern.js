// mcp_modern.js [http] -- a server of 2026-07-28, made with the official SDK:
// over stdio, or over HTTP (then it prints its port, and ends when its input
// does).
"use strict";
const http = require("node:http");
const { Readable } = require("node:stream");
const { McpServer, acceptedContent, createMcpHandler, inputRequired } =
    require("@modelcontextprotocol/server");
const { serveStdio } = require("@modelcontextprotocol/server/stdio");
const { z } = require("zod");

const text = (words) => ({ content: [{ type: "text", text: words }] });

function made() {
    const server = new McpServer({ name: "modern", version: "1.0.0" },
                                 { capabilities: { tools: {} } });

    server.registerTool("echo", {
        description: "Says what it was told.",
        inputSchema: z.object({ text: z.string() }),
        annotations: { readOnlyHint: true },
    }, async ({ text: words }) => text(words));
    server.registerTool("sum", {
        description: "Adds.",
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        outputSchema: z.object({ sum: z.number() }),
    }, async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }));
    server.registerTool("deploy", {
        description: "Asks first.",
        inputSchema: z.object({ to: z.string() }),
    }, async ({ to }, ctx) => {
        const wanted = z.object({ sure: z.boolean() });
        const said = acceptedContent(ctx.mcpReq.inputResponses, "sure", wanted);
        if (said?.sure !== true)
            return inputRequired({ inputRequests: { sure: inputRequired.elicit(
                { message: `Deploy to ${to}?`, requestedSchema: wanted }) } });
        return text(`deployed to ${to}`);
    });
    server.registerTool("slow", {
        description: "Takes a while, and says so.",
        inputSchema: z.object({ ms: z.number() }),
    }, async ({ ms }, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (let i = 1; i <= 4; i++) {
            await new Promise((go) => setTimeout(go, ms / 4));
            if (progressToken !== undefined)
                await ctx.mcpReq.notify({ method: "notifications/progress",
                                          params: { progressToken, progress: i, total: 4 } });
        }
        return text("slept");
    });
    return server;
}

if (process.argv[2] === "http") {
    const handler = createMcpHandler(made);
    const server = http.createServer(async (req, res) => {
        const answer = await handler.fetch(new Request(`http://127.0.0.1${req.url}`, {
            method: req.method, headers: req.headers, duplex: "half",
            body: req.method === "POST" ? Readable.toWeb(req) : undefined }));
        res.writeHead(answer.status, Object.fromEntries(answer.headers));
        if (answer.body) Readable.fromWeb(answer.body).pipe(res);
        else res.end();
    });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));
    process.stdin.resume().on("end", () => process.exit(0));
} else {
    serveStdio(made);
}
