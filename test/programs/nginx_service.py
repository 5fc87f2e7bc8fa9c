# SPDX-License-Identifier: GPL-2.0-only
"""nginx with two workers and clients that keep their connections."""

import hashlib
import http.client
import os
import sys

import service
from service import require

CONFIGURATION = """
daemon off;
worker_processes 2;
pid nginx.pid;
error_log error.log;
events { worker_connections 64; }
http {
    access_log access.log;
    keepalive_timeout 600s;
    keepalive_requests 1000000;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server { listen 127.0.0.1:8080; root .; }
}
"""


def main():
    """The tree's root."""
    folder = os.getcwd()
    os.chmod(folder, 0o755)
    with open("nginx.conf", "w", encoding="ascii") as file:
        file.write(("user root;\n" if os.geteuid() == 0 else "") + CONFIGURATION.replace("root .", f"root {folder}"))
    data = os.urandom(3 << 20)
    digest = hashlib.sha256(data).digest()
    with open("data", "wb") as file:
        file.write(data)
    server = service.start(["nginx", "-p", folder, "-c", os.path.join(folder, "nginx.conf")], "nginx.log")
    clients = [http.client.HTTPConnection("127.0.0.1", 8080, timeout=60) for _ in range(5)]

    def listens():
        try:
            clients[0].connect()
            return True
        except ConnectionRefusedError:
            require(server.poll() is None, "nginx did not start")
            return False

    service.until(listens, 60, "nginx")
    for client in clients[1:]:
        client.connect()
    ports = [client.sock.getsockname()[1] for client in clients]
    count = 0

    def turn():
        nonlocal count
        client = clients[count % len(clients)]
        count += 1
        client.request("GET", "/data")
        response = client.getresponse()
        require(response.status == 200, f"nginx says {response.status}")
        require(hashlib.sha256(response.read()).digest() == digest, "the file came with other bytes")

    def finish():
        require(ports == [client.sock.getsockname()[1] for client in clients], "a client had to connect again")
        # A worker writes a request's line after the answer's last byte: the client is through before the line is
        # there. Workers end between events, so that of workers that have ended every line is there.
        service.stop(server)
        with open("access.log", encoding="ascii") as file:
            lines = len(file.readlines())
        require(lines == count, f"the log has {lines} lines of {count} requests")

    service.work(turn, finish)


sys.exit(main())
