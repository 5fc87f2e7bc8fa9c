# SPDX-License-Identifier: GPL-2.0-only
"""TCP server outside of the dumped tree. It sends back all that it receives."""

import fcntl
import selectors
import shutil
import socket
import struct
import subprocess
import termios
import threading

SIOCOUTQNSD = 0x894B


class EchoServer:
    """Server at a port of 127.0.0.1, until the process ends."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.clients = []
        self._last = []  # states of connections when they ended
        self._waiting = {}  # data to send back
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        selector = selectors.DefaultSelector()
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ)
        while True:
            for key, events in selector.select():
                if key.fileobj is self._listener:
                    client, _ = self._listener.accept()
                    client.setblocking(False)
                    self._waiting[client] = bytearray()
                    self.clients.append(client)
                    selector.register(client, selectors.EVENT_READ)
                    continue
                if not self._echo(key.fileobj, events, self._waiting[key.fileobj]):
                    selector.unregister(key.fileobj)
                    self._last.append(_condition(key.fileobj, len(self._waiting[key.fileobj]), key.events))
                    del self._waiting[key.fileobj]
                    key.fileobj.close()
                    continue
                # While data waits to be sent, the server reads no more.
                wanted = selectors.EVENT_WRITE if self._waiting[key.fileobj] else selectors.EVENT_READ
                if wanted != key.events:
                    selector.modify(key.fileobj, wanted)

    def conditions(self):
        """Returns the kernel's state of each connection, also of ended ones, as lines. They show why a connection
        stalled.
        """
        living = [_condition(client, len(self._waiting[client]), "?") for client in self.clients if client in self._waiting]
        lines = [f"server ({'serves' if self._thread.is_alive() else 'is dead'}): {line}" for line in self._last + living]
        nft = shutil.which("nft")
        rules = subprocess.run([nft, "list", "ruleset"], check=False, capture_output=True, text=True).stdout if nft else ""
        return lines + [f"rule: {line.strip()}" for line in rules.splitlines() if str(self.port) in line]

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


def _condition(client, waiting, events):
    """Returns queues, timers and times (ms) of a TCP connection."""
    def queue(request):
        return struct.unpack("i", fcntl.ioctl(client, request, bytes(4)))[0]
    try:
        info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 112)
        unread, unacknowledged, unsent = queue(termios.FIONREAD), queue(termios.TIOCOUTQ), queue(SIOCOUTQNSD)
    except OSError as error:
        return str(error)
    state, congestion, retransmits, probes, backoff = info[:5]
    numbers = struct.unpack("24I", info[8:104])
    pacing = struct.unpack("Q", info[104:112])[0]
    return (f"state {state}/{congestion}, awaits {events}, to send back {waiting}, unread {unread}, "
            f"unacknowledged {unacknowledged} ({numbers[4]} packets), unsent {unsent}, retransmits {retransmits}, probes {probes}, "
            f"backoff {backoff}, rto {numbers[0]} us, rtt {numbers[15]}, cwnd {numbers[18]}, paced at {pacing} B/s, sent {numbers[9]} ago, "
            f"received {numbers[11]} ago, acknowledged {numbers[12]} ago")
