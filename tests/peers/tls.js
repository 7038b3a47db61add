// tls.js CERT KEY -- an HTTPS server that never answers: it makes the file
// `asked`, and breaks its connections when it gets SIGUSR2.  Prints its port.
"use strict";
const fs = require("node:fs");
const https = require("node:https");

const raw = new Set();
const server = https.createServer(
    { cert: fs.readFileSync(process.argv[2]), key: fs.readFileSync(process.argv[3]) },
    () => fs.writeFileSync("asked", ""));
server.on("connection", (s) => raw.add(s));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.on("SIGUSR2", () => raw.forEach((s) => s.resetAndDestroy()));
