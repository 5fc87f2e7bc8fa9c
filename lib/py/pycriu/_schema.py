# SPDX-License-Identifier: LGPL-2.1-only
"""Messages of images and requests.

No modules are generated from the .proto files. The build writes their descriptions to messages.desc by protoc, and
the import makes message classes of it. So the package works with any version of protobuf. The descriptions are in a
separate pool, so they don't collide with those of another package in the same process.
"""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ModuleNotFoundError as _missing:
    raise ModuleNotFoundError(f"pycriu needs Python's protobuf: install python3-protobuf, or pip install protobuf ({_missing})",
                              name=_missing.name) from None

Field = descriptor_pb2.FieldDescriptorProto

# Message with the fields by which opts.proto extends field options. Field options are parsed as this message, so that
# the extension needs no registration with protobuf's classes.
_VIEW = "pycriu_field_options"


@functools.lru_cache(maxsize=None)
def _described() -> descriptor_pb2.FileDescriptorSet:
    """Reads the output of protoc."""
    path = importlib.resources.files(__package__).joinpath("messages.desc")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ImportError(f"pycriu has no {path}, which the build of criu makes: import pycriu from build/lib/py or an installation, "
                          "not from the source folder lib/py") from None
    return descriptor_pb2.FileDescriptorSet.FromString(data)


class Schema:
    """A set of message classes.

    With ``lenient``, strings are bytes and enumerations are numbers, because file names may not be UTF-8 and a newer
    criu may have unknown values. The encoding on disk is the same.
    """

    def __init__(self, lenient: bool = False) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        self._classes: dict[str, Any] = {}
        self._factory = None if hasattr(message_factory, "GetMessageClass") else message_factory.MessageFactory(self._pool)
        for described in _described().file:
            file = described
            if lenient and not described.name.startswith("google/"):
                file = descriptor_pb2.FileDescriptorProto()
                file.CopyFrom(described)
                for message in file.message_type:
                    _make_lenient(message)
            self._pool.AddSerializedFile(file.SerializeToString())

    def file(self, name: str) -> Any:
        """Returns the descriptor of a .proto file, e.g. "rpc.proto"."""
        return self._pool.FindFileByName(name)

    def message(self, name: str) -> Any:
        """Returns the class of a message; KeyError if the name is unknown."""
        if name not in self._classes:
            self._classes[name] = self.message_of(self._pool.FindMessageTypeByName(name))
        return self._classes[name]

    def message_of(self, descriptor: Any) -> Any:
        """Returns the class of a message that this schema has a descriptor of."""
        if self._factory:
            return self._factory.GetPrototype(descriptor)
        return message_factory.GetMessageClass(descriptor)


def _make_lenient(message: descriptor_pb2.DescriptorProto) -> None:
    """Changes strings to bytes and enumerations to numbers, in the message and its nested messages."""
    for field in message.field:
        if field.type == Field.TYPE_STRING:
            field.type = Field.TYPE_BYTES
        elif field.type == Field.TYPE_ENUM:
            field.type = Field.TYPE_INT32
            field.ClearField("type_name")
            field.ClearField("default_value")
    for nested in message.nested_type:
        _make_lenient(nested)


@functools.lru_cache(maxsize=None)
def public() -> Schema:
    """Returns the messages with the types of the .proto files, for programs that fill them in."""
    return Schema()


@functools.lru_cache(maxsize=None)
def lenient() -> Schema:
    """Returns the messages with lenient types, for reading images."""
    return Schema(lenient=True)


class FieldFacts:
    """Description of a field in its .proto file: type, names of its enumeration, and display options of crit."""

    __slots__ = ("name", "number", "type", "type_name", "repeated", "options")

    def __init__(self, field: descriptor_pb2.FieldDescriptorProto, options: Any) -> None:
        self.name = field.name
        self.number = field.number
        self.type = field.type
        self.type_name = field.type_name.lstrip(".")
        self.repeated = field.label == Field.LABEL_REPEATED
        self.options = options


@functools.lru_cache(maxsize=None)
def _options_view() -> Any:
    """Returns the class that parses field options."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{_VIEW}.proto", syntax="proto2", dependency=["opts.proto"])
    field = file.message_type.add(name=_VIEW).field.add(name="criu", number=1018, type=Field.TYPE_MESSAGE)
    field.label, field.type_name = Field.LABEL_OPTIONAL, ".CRIU_Opts"
    schema = Schema()
    schema._pool.AddSerializedFile(file.SerializeToString())
    return schema.message(_VIEW)


@functools.lru_cache(maxsize=None)
def _facts_and_enumerations() -> tuple[dict[str, dict[int, FieldFacts]], dict[str, dict[int, str]]]:
    messages: dict[str, dict[int, FieldFacts]] = {}
    enumerations: dict[str, dict[int, str]] = {}
    view = _options_view()

    def add_message(message: descriptor_pb2.DescriptorProto, scope: str) -> None:
        name = scope + message.name
        messages[name] = {field.number: FieldFacts(field, view.FromString(field.options.SerializeToString()).criu)
                          for field in message.field}
        for nested in message.nested_type:
            add_message(nested, f"{name}.")
        for enumeration in message.enum_type:
            enumerations[f"{name}.{enumeration.name}"] = {value.number: value.name for value in enumeration.value}

    for file in _described().file:
        scope = f"{file.package}." if file.package else ""
        for message in file.message_type:
            add_message(message, scope)
        for enumeration in file.enum_type:
            enumerations[scope + enumeration.name] = {value.number: value.name for value in enumeration.value}
    return messages, enumerations


def fields_of(message: str) -> dict[int, FieldFacts]:
    """Returns the fields of a message by number."""
    return _facts_and_enumerations()[0][message]


def enumeration(name: str) -> dict[int, str]:
    """Returns the names of an enumeration's values by number."""
    return _facts_and_enumerations()[1][name]
