# SPDX-License-Identifier: GPL-2.0-only
"""A TCP server outside of the tree that is dumped: it sends back whatever it receives."""

import selectors
import socket
import threading


class EchoServer:
    """Serves at a port of 127.0.0.1 until the process ends."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.clients = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        selector = selectors.DefaultSelector()
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ)
        waiting = {}
        while True:
            for key, events in selector.select():
                if key.fileobj is self._listener:
                    client, _ = self._listener.accept()
                    client.setblocking(False)
                    waiting[client] = bytearray()
                    self.clients.append(client)
                    selector.register(client, selectors.EVENT_READ)
                    continue
                if not self._echo(key.fileobj, events, waiting[key.fileobj]):
                    selector.unregister(key.fileobj)
                    del waiting[key.fileobj]
                    key.fileobj.close()
                    continue
                # What can't be sent back yet is all that is taken.
                wanted = selectors.EVENT_WRITE if waiting[key.fileobj] else selectors.EVENT_READ
                if wanted != key.events:
                    selector.modify(key.fileobj, wanted)

    def _echo(self, client, events, data):
        try:
            if events & selectors.EVENT_READ:
                received = client.recv(65536)
                if not received:
                    return False
                data += received
            del data[:client.send(data)]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True
