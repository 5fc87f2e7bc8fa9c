# SPDX-License-Identifier: LGPL-2.1-only
"""Converts messages to the dicts of crit's JSON, and back.

A dict has the set fields by name, in the order of their numbers. Bytes are base64 text, names of Unix sockets
quoted-printable, and enumerations names. Bytes that aren't UTF-8 become lone surrogates, as in Python's file names.
Fields of a newer criu that no .proto file describes are one item, UNKNOWN, with their bytes.
"""

from __future__ import annotations

import base64
import functools
import ipaddress
import quopri
import struct
import warnings
from collections.abc import Callable
from typing import Any

from .. import _schema
from .._schema import Field
from . import looks

UNKNOWN = "unknown_fields"

_BITS = {Field.TYPE_UINT32: 32, Field.TYPE_FIXED32: 32, Field.TYPE_UINT64: 64, Field.TYPE_FIXED64: 64}
_SIGNED = {Field.TYPE_INT32, Field.TYPE_SINT32, Field.TYPE_SFIXED32, Field.TYPE_INT64, Field.TYPE_SINT64,
           Field.TYPE_SFIXED64}


def _quoted(value: bytes) -> str:
    """Returns quoted-printable text. Quotes line breaks that would be changed otherwise."""
    text = quopri.encodestring(value)
    if quopri.decodestring(text) != value:
        text = b"".join(b"=%02X" % byte if byte < 33 or byte > 126 or byte == 61 else bytes([byte]) for byte in value)
    return text.decode()


def _to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


class _Codec:
    """Converter of one field. `show` returns JSON of a single value, `show_pretty` its readable form; `read` accepts
    both.
    """

    __slots__ = ("facts", "name", "repeated", "is_message", "is_address", "show", "show_pretty", "read")

    def __init__(self, facts: _schema.FieldFacts) -> None:
        self.facts = facts
        self.name = facts.name
        self.repeated = facts.repeated
        self.is_message = facts.type == Field.TYPE_MESSAGE
        self.is_address = facts.repeated and facts.options.ipadd
        self.show: Callable[[Any], Any] = lambda value: value
        self.show_pretty: Callable[[Any], Any] | None = None
        self.read: Callable[[Any], Any] = lambda value: value
        if facts.type == Field.TYPE_BYTES:
            if facts.options.conv == "unix_name":
                self.show, self.read = _quoted, lambda value: quopri.decodestring(_to_bytes(value))
            else:
                self.show = lambda value: base64.encodebytes(value).decode()
                self.read = lambda value: base64.decodebytes(value.encode())
        elif facts.type == Field.TYPE_STRING:
            self.show = _to_text
        elif facts.type == Field.TYPE_ENUM:
            names = _schema.enumeration(facts.type_name)
            numbers = {name: number for number, name in names.items()}
            self.show = lambda value: names.get(value, value)
            self.read = lambda value: value if isinstance(value, int) else numbers[value]
        elif facts.type == Field.TYPE_BOOL:
            self.show = self.read = bool
        elif facts.type in _BITS or facts.type in _SIGNED:
            self._be_number()
        elif not self.is_message:
            raise TypeError(f"no JSON for field {facts.name}, which is of type {facts.type}")

    def _be_number(self) -> None:
        options, name = self.facts.options, self.facts.name
        bits = _BITS.get(self.facts.type)
        parse: Callable[[str], int] = lambda text: int(text, 0)
        if options.hex:
            self.show_pretty = hex
        elif options.dev:
            self.show_pretty = lambda value: looks.show_device(value, options.odev)
            parse = lambda text: looks.read_device(text, options.odev)
        elif options.flags:
            self.show_pretty = lambda value: looks.show_flags(options.flags, value)
            parse = lambda text: looks.read_flags(options.flags, text)
        elif options.dict:
            self.show_pretty = lambda value: looks.show_name(options.dict, name, value)
            parse = lambda text: looks.read_name(options.dict, name, text)

        def read(value: Any) -> int:
            number = parse(value) if isinstance(value, str) else int(value)
            # A negative number in an unsigned field is its two's complement (offsets of clocks).
            return number & ((1 << bits) - 1) if bits and number < 0 else number

        self.read = read


@functools.lru_cache(maxsize=None)
def _codecs(message: str) -> tuple[dict[int, _Codec], dict[str, _Codec]]:
    """Returns the fields of a message by number and by name."""
    by_number = {number: _Codec(facts) for number, facts in _schema.fields_of(message).items()}
    return by_number, {codec.name: codec for codec in by_number.values()}


def _show_address(words: Any) -> str:
    """Formats an address whose words are in network byte order."""
    packed = struct.pack(f"={len(words)}I", *words)
    return ipaddress.ip_address(packed).compressed


def pb2dict(pb: Any, pretty: bool = False, is_hex: bool = False) -> dict[str, Any]:
    """Returns the set fields of a message. `pretty`: numbers in readable form. `is_hex`: all numbers in base 16."""
    codecs = _codecs(pb.DESCRIPTOR.full_name)[0]
    result: dict[str, Any] = {}
    for descriptor, value in pb.ListFields():
        codec = codecs[descriptor.number]
        if codec.is_message:
            in_hex = is_hex or codec.facts.options.hex
            result[codec.name] = ([pb2dict(item, pretty, in_hex) for item in value] if codec.repeated
                                  else pb2dict(value, pretty, in_hex))
            continue
        show = codec.show
        if pretty:
            if codec.is_address and len(value) in (1, 4):
                result[codec.name] = [_show_address(value)]
                continue
            if is_hex and (codec.facts.type in _BITS or codec.facts.type in _SIGNED):
                show = hex
            elif codec.show_pretty:
                show = codec.show_pretty
        result[codec.name] = [show(item) for item in value] if codec.repeated else show(value)
    return result


def dict2pb(d: dict[str, Any], pb: Any) -> Any:
    """Sets fields of a message and returns it. ValueError for an unknown field or an invalid value."""
    codecs = _codecs(pb.DESCRIPTOR.full_name)[1]
    for name, value in d.items():
        codec = codecs.get(name)
        if codec is None:
            if name != UNKNOWN:
                raise ValueError(f"{pb.DESCRIPTOR.name} has no field {name}")
            continue
        try:
            _set(pb, codec, value)
        except (TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"{pb.DESCRIPTOR.name}.{name} can't be {value!r}: {error}") from error
    if UNKNOWN in d:
        pb.MergeFromString(base64.decodebytes(d[UNKNOWN].encode()))
    return pb


def _set(pb: Any, codec: _Codec, value: Any) -> None:
    """Sets one field of a message."""
    if codec.is_message:
        if codec.repeated:
            for item in value:
                dict2pb(item, getattr(pb, codec.name).add())
        else:
            getattr(pb, codec.name).SetInParent()
            dict2pb(value, getattr(pb, codec.name))
        return
    read = codec.read
    if codec.facts.type == Field.TYPE_STRING:
        kind = pb.DESCRIPTOR.fields_by_name[codec.name].type
        read = _to_bytes if kind == Field.TYPE_BYTES else _to_text
    if not codec.repeated:
        setattr(pb, codec.name, read(value))
    elif codec.is_address and value and isinstance(value[0], str):
        packed = ipaddress.ip_address(value[0]).packed
        getattr(pb, codec.name).extend(struct.unpack(f"={len(packed) // 4}I", packed))
    else:
        getattr(pb, codec.name).extend(read(item) for item in value)


def parsed(message: Any, record: bytes) -> Any:
    """Parses a record into a message, and returns the message. Of some damaged records, protobuf parses only the beginning
    and warns; such a warning is an error, too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        message.ParseFromString(record)
    return message


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a varint of the wire format and its end."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _unknown(message: Any, known: dict[int, _Codec]) -> bytes:
    """Returns the bytes of a message's fields that no .proto file describes."""
    data = message.SerializePartialToString()
    at, found = 0, b""
    while at < len(data):
        start = at
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            _, at = _varint(data, at)
        elif wire == 2:
            size, at = _varint(data, at)
            at += size
        else:
            at += {1: 8, 5: 4}[wire]
        if number not in known:
            found += data[start:at]
    return found


def add_unknown(message: Any, result: dict[str, Any]) -> None:
    """Adds fields that no .proto file describes to a result of pb2dict(), also in nested messages."""
    codecs = _codecs(message.DESCRIPTOR.full_name)[0]
    for descriptor, value in message.ListFields():
        codec = codecs[descriptor.number]
        if not codec.is_message:
            continue
        if codec.repeated:
            for item, shown in zip(value, result[codec.name]):
                add_unknown(item, shown)
        else:
            add_unknown(value, result[codec.name])
    if unknown := _unknown(message, codecs):
        result[UNKNOWN] = base64.encodebytes(unknown).decode()
