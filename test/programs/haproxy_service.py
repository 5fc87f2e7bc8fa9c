# SPDX-License-Identifier: GPL-2.0-only
"""HAProxy, a master and a worker of four threads, between clients that keep their connections and a server. The socket by
which it is asked for its state is bound under another name and then moved to its place."""

import http.client
import http.server
import os
import socket
import sys
import threading

import service
from service import require

CONFIGURATION = """
global
    nbthread 4
    stats socket SOCKET
defaults
    mode http
    timeout connect 60s
    timeout client 600s
    timeout server 600s
frontend front
    bind 127.0.0.1:8080
    default_backend back
backend back
    server only 127.0.0.1:8081
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the path that was asked for, over and over."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        """One request."""
        body = self.path.encode() * 1000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        """Nobody reads it."""


def ask(question):
    """What HAProxy answers at its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.settimeout(60)
        channel.connect("haproxy.sock")
        channel.sendall(question.encode() + b"\n")
        answer = b""
        while more := channel.recv(65536):
            answer += more
    return answer.decode()


def answers():
    """Whether it is there."""
    try:
        return "Uptime" in ask("show info")
    except OSError:
        return False


def main():
    """The tree's root."""
    with open("haproxy.cfg", "w", encoding="ascii") as file:
        file.write(CONFIGURATION.replace("SOCKET", os.path.abspath("haproxy.sock")))
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 8081), Handler)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    server = service.start([service.path_of("haproxy"), "-W", "-db", "-f", "haproxy.cfg"], "haproxy.log")
    service.until(lambda: answers() or server.poll() is not None, 60, "answer of HAProxy")
    require(server.poll() is None, "HAProxy did not start")
    clients = [http.client.HTTPConnection("127.0.0.1", 8080, timeout=60) for _ in range(5)]
    for client in clients:
        client.connect()
    ports = [client.sock.getsockname()[1] for client in clients]
    worker = [line for line in ask("show info").splitlines() if line.startswith("Pid:")]
    count = 0

    def turn():
        nonlocal count
        client = clients[count % len(clients)]
        count += 1
        client.request("GET", f"/{count}")
        response = client.getresponse()
        require(response.status == 200, f"HAProxy says {response.status}")
        require(response.read() == f"/{count}".encode() * 1000, "an answer has other bytes")
        require(worker[0] in ask("show info").splitlines(), "another worker answers at the socket")

    def finish():
        require(ports == [client.sock.getsockname()[1] for client in clients], "a client had to connect again")
        service.stop(server)

    service.work(turn, finish)


sys.exit(main())
