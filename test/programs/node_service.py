# SPDX-License-Identifier: GPL-2.0-only
"""A node HTTP server with timers, answered to over kept connections."""

import http.client
import json
import os
import sys

import service
from service import require

SERVER = """
const http = require('http');
let requests = 0, ticks = 0, last = process.hrtime.bigint(), backwards = false;
setInterval(() => { const now = process.hrtime.bigint(); backwards ||= now < last; last = now; ticks++; }, 5);
const store = new Map();
http.createServer((request, response) => {
    requests++;
    let body = '';
    request.on('data', part => body += part);
    request.on('end', () => {
        store.set(requests, body);
        response.end(JSON.stringify({ requests, ticks, backwards, kept: store.size, first: store.get(1), body }));
    });
}).listen(8081, '127.0.0.1').keepAliveTimeout = 600000;
"""


def main():
    """The tree's root."""
    with open("server.js", "w", encoding="ascii") as file:
        file.write(SERVER)
    server = service.start(["node", os.path.abspath("server.js")], "node.log")
    clients = [http.client.HTTPConnection("127.0.0.1", 8081, timeout=60) for _ in range(3)]

    def listens():
        try:
            clients[0].connect()
            return True
        except ConnectionRefusedError:
            require(server.poll() is None, "node did not start")
            return False

    service.until(listens, 60, "node")
    count = 0
    ticks = 0

    def turn():
        nonlocal count, ticks
        count += 1
        clients[count % len(clients)].request("POST", "/", body=f"number {count}" * 100)
        answer = json.loads(clients[count % len(clients)].getresponse().read())
        require(answer["requests"] == answer["kept"] == count, f"request {count} is number {answer['requests']}")
        require(answer["body"] == f"number {count}" * 100 and answer["first"] == "number 1" * 100, "a body changed")
        require(answer["ticks"] >= ticks and not answer["backwards"], "time went backwards")
        ticks = answer["ticks"]

    def finish():
        before = ticks
        service.until(lambda: (turn(), ticks > before)[1], 60, "tick of the timer")
        service.stop(server)

    service.work(turn, finish)


sys.exit(main())
