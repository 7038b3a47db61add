// http.js -- a server of somebody else's making, with all that a server does
// to its clients.  Prints its port; ends when its input does.
"use strict";
const net = require("node:net");
const zlib = require("node:zlib");
const express = require("express");
const compression = require("compression");

const app = express();
app.use(compression());
app.use(express.json());
const again = new Set(); // who was told to come back later

app.get("/hello", (req, res) => res.json({ hello: "world" }));
app.get("/hop/:n", (req, res) =>
    res.redirect(302, req.params.n > 1 ? `/hop/${req.params.n - 1}` : "/hello"));
app.get("/round", (req, res) => res.redirect(301, "/round"));
app.get("/away", (req, res) =>
    res.redirect(307, `http://localhost:${req.socket.localPort}/hello`));
app.get("/chunked", async (req, res) => {
    for (let i = 0; i < 100; i++) {
        res.write(`${i};`);
        await new Promise((go) => setImmediate(go));
    }
    res.end();
});
app.get("/drip", async (req, res) => {
    for (const c of "drop by drop") {
        res.write(c);
        res.flush();
        await new Promise((go) => setTimeout(go, 30));
    }
    res.end();
});
app.get("/text", (req, res) => res.type("text/plain").send("ab".repeat(50000)));
app.get("/gzip", (req, res) => {
    res.set({ "Content-Encoding": "gzip", "Content-Type": "text/plain" });
    res.end(zlib.gzipSync("zipped"));
});
app.get("/bomb", (req, res) => {
    res.set({ "Content-Encoding": "gzip", "Content-Type": "text/plain" });
    res.end(zlib.gzipSync(Buffer.alloc(64 << 20)));
});
app.get("/huge", (req, res) => {
    const part = Buffer.alloc(1 << 20, "x");
    let left = 64;
    const more = () => {
        while (left-- > 0) if (!res.write(part)) return res.once("drain", more);
        res.end();
    };
    res.set("Content-Length", String(64 << 20));
    more();
});
app.get("/later/:who", (req, res) => {
    if (again.has(req.params.who)) return res.json({ visits: 2 });
    again.add(req.params.who);
    res.set("Retry-After", "1").status(503).send("busy");
});
app.get("/silent", () => {});
app.get("/drop", (req) => req.socket.destroy());
app.get("/half", (req, res) => {
    res.set("Content-Length", "100").write("only this");
    setTimeout(() => req.socket.destroy(), 50);
});
app.get("/peer", (req, res) => res.json({ port: req.socket.remotePort }));
app.all("/echo", (req, res) =>
    res.json({ method: req.method, type: req.get("content-type"),
               key: req.get("idempotency-key"), body: req.body }));

const server = app.listen(0, "127.0.0.1", () => {
    // And one that does not even speak the language.
    const babble = net.createServer((s) => {
        s.on("error", () => {});
        s.end("\0\x01 this is no HTTP\r\n\r\n");
    });
    babble.listen(0, "127.0.0.1", () =>
        console.log(server.address().port, babble.address().port));
});
process.stdin.resume().on("end", () => process.exit(0));
