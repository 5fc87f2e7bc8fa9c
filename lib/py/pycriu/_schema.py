# SPDX-License-Identifier: LGPL-2.1-only
"""The messages of images and requests.

No modules are generated from the .proto files: protoc describes them in one file, messages.desc, when the package is
built, and message classes are made of that when it is imported. So the package depends on no particular version of
protobuf, and its descriptions don't collide with those of another program in the same process, because they are in a
pool of their own.
"""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto

# The message that shows what opts.proto adds to the options of a field, read as a field of an ordinary message: that
# needs no extension to be registered with protobuf's own classes.
_VIEW = "pycriu_field_options"


@functools.lru_cache(maxsize=None)
def _described() -> descriptor_pb2.FileDescriptorSet:
    """What protoc wrote."""
    data = importlib.resources.files(__package__).joinpath("messages.desc").read_bytes()
    return descriptor_pb2.FileDescriptorSet.FromString(data)


class Schema:
    """A set of message classes.

    With ``lenient``, strings are kept as bytes and enumerations as numbers: file names need not be UTF-8, and values of
    a newer criu need not be known. On disk that is the same.
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
        """The descriptor of a .proto file, e.g. "rpc.proto"."""
        return self._pool.FindFileByName(name)

    def message(self, name: str) -> Any:
        """The class of a message; KeyError if there is none of this name."""
        if name not in self._classes:
            self._classes[name] = self.message_of(self._pool.FindMessageTypeByName(name))
        return self._classes[name]

    def message_of(self, descriptor: Any) -> Any:
        """The class of a message that this schema has a descriptor of."""
        if self._factory:
            return self._factory.GetPrototype(descriptor)
        return message_factory.GetMessageClass(descriptor)


def _make_lenient(message: descriptor_pb2.DescriptorProto) -> None:
    """Strings become bytes and enumerations numbers, here and in the messages within."""
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
    """Messages as their .proto files describe them: for programs that fill them in."""
    return Schema()


@functools.lru_cache(maxsize=None)
def lenient() -> Schema:
    """Messages as they are read from images."""
    return Schema(lenient=True)


class FieldFacts:
    """What a .proto file says of a field: its type, the names of its enumeration, how crit is to show it."""

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
    """The class that field options are read with."""
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
    """The fields of a message by number."""
    return _facts_and_enumerations()[0][message]


def enumeration(name: str) -> dict[int, str]:
    """Names of an enumeration's values by number."""
    return _facts_and_enumerations()[1][name]
