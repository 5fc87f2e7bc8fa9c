# SPDX-License-Identifier: GPL-2.0-only
"""Client for criu's requests with a separate protobuf codec: it parses images/rpc.proto independently of criu's
library.
"""

import array
import os
import re
import socket
import struct

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LARGEST_REPLY = 1024  # read size of existing clients


class Proto:
    """Messages and enumerations of a proto2 file, as far as rpc.proto needs them."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        self.enums = {}
        self.messages = {}
        for kind, name, body in re.findall(r"(enum|message)\s+(\w+)\s*\{(.*?)\n\}", text, re.DOTALL):
            if kind == "enum":
                self.enums[name] = {key: int(value) for key, value in re.findall(r"(\w+)\s*=\s*(\d+)", body)}
            else:
                self.messages[name] = {
                    field: (int(number), of, label)
                    for label, of, field, number in re.findall(r"(\w+)\s+(\w+)\s+(\w+)\s*=\s*(\d+)", body)}

    def encode(self, message, values):
        """Encodes a dictionary as a message, with fields in ascending order. Repeated fields are lists, messages are
        dictionaries.
        """
        out = b""
        for field, value in sorted(values.items(), key=lambda item: int(self.messages[message][item[0]][0])):
            number, of, label = self.messages[message][field]
            for item in value if label == "repeated" else [value]:
                out += self._encode_one(number, of, item)
        return out

    def _encode_one(self, number, of, value):
        if of in self.messages or of in ("string", "bytes"):
            content = self.encode(of, value) if of in self.messages else \
                value if isinstance(value, bytes) else value.encode()
            return varint(number << 3 | 2) + varint(len(content)) + content
        if of in self.enums and isinstance(value, str):
            value = self.enums[of][value]
        return varint(number << 3) + varint(int(value) & 0xffffffffffffffff)

    def decode(self, message, data):
        """Decodes a message to a dictionary."""
        by_number = {number: (field, of, label) for field, (number, of, label) in self.messages[message].items()}
        values = {}
        while data:
            key, data = take_varint(data)
            if key & 7 == 2:
                size, data = take_varint(data)
                raw, data = data[:size], data[size:]
            elif key & 7 == 0:
                raw, data = take_varint(data)
            else:
                raise ValueError(f"wire type {key & 7}")
            field, of, label = by_number[key >> 3]
            value = self._value(of, raw)
            if label == "repeated":
                values.setdefault(field, []).append(value)
            else:
                values[field] = value
        return values

    def _value(self, of, raw):
        if of in self.messages:
            return self.decode(of, raw)
        if of == "string":
            return raw.decode()
        if of in self.enums:
            return next((name for name, number in self.enums[of].items() if number == raw), raw)
        if of == "bool":
            return bool(raw)
        if of.startswith("int"):
            return struct.unpack("q", struct.pack("Q", raw))[0]
        return raw


def varint(number):
    """Encodes a number."""
    out = b""
    while True:
        number, low = number >> 7, number & 0x7f
        out += bytes([low | (0x80 if number else 0)])
        if not number:
            return out


def take_varint(data):
    """Returns the first number and the remaining bytes."""
    number = shift = 0
    for at, byte in enumerate(data):
        number |= (byte & 0x7f) << shift
        if not byte & 0x80:
            return number, data[at + 1:]
        shift += 7
    raise ValueError("a number without an end")


PROTO = Proto(os.path.join(ROOT, "images", "rpc.proto"))


class Left(Exception):
    """Error for a connection that criu has closed."""


class Connection:
    """The client's end of a connection."""

    PATIENCE = 60  # in seconds

    def __init__(self, end):
        self.socket = end
        end.settimeout(self.PATIENCE)
        self.passed = []  # descriptors that came with replies

    @classmethod
    def to_service(cls, path):
        """Connects to the service."""
        end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        end.connect(path)
        return cls(end)

    def send(self, kind, opts=None, **more):
        """Sends a request of a type, with criu_opts if given."""
        values = {"type": kind, **more}
        if opts is not None:
            values["opts"] = {"images_dir_fd": -1, **opts}
        self.socket.send(PROTO.encode("criu_req", values))

    def receive(self):
        """Returns the next reply as a dictionary. Raises Left if criu has closed the connection."""
        rights = array.array("i")
        room = socket.CMSG_SPACE(8 * rights.itemsize)
        data, ancillary, flags, _ = self.socket.recvmsg(LARGEST_REPLY, room)
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                rights.frombytes(content[:len(content) - len(content) % rights.itemsize])
        self.passed += list(rights)
        if flags & socket.MSG_TRUNC:
            raise ValueError("a reply larger than clients read")
        if not data:
            raise Left()
        return PROTO.decode("criu_resp", data)

    def ask(self, kind, opts=None, **more):
        """Returns the reply to a request without notifications."""
        self.send(kind, opts, **more)
        return self.receive()

    def run(self, kind, opts, answer=lambda note: True):
        """Sends a request with notifications, and replies to each with the result of `answer`. Returns the reply and
        the notifications.
        """
        self.send(kind, {**opts, "notify_scripts": True})
        notes = []
        while True:
            reply = self.receive()
            if reply["type"] != "NOTIFY":
                return reply, notes
            notes.append(reply["notify"])
            self.send("NOTIFY", notify_success=bool(answer(reply["notify"])))

    def close(self):
        """Closes the connection."""
        self.socket.close()


class Swrk(Connection):
    """`criu swrk 3`, started by a client that runs in the init of a namespace. `within` is a process: criu then runs in
    its pid and mount namespaces, as a child of a process that waits for it.
    """

    def __init__(self, init, binary, output, passed=(), environment=None, options=("--no-default-config",), within=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(ours)
        self.init = init
        words = [binary, *options, "swrk", "3"]
        if within is not None:
            words[:0] = ["/usr/bin/nsenter", "-t", str(within), "-p", "-m"]
        numbers = {3 + at: fd for at, fd in enumerate([theirs.fileno(), *passed])}
        self.pid = init.start(words, "/", output, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **(environment or {})},
                              passed=numbers)
        theirs.close()

    def end(self):
        """Closes the connection and waits for criu. Returns its exit status."""
        self.close()
        return self.wait()

    def wait(self):
        """Waits for criu and returns its exit status."""
        return self.init.wait(self.pid, self.PATIENCE, "end of criu swrk").code
