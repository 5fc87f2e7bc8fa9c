# SPDX-License-Identifier: LGPL-2.1-only
"""Messages, enumerations and values of rpc.proto, by the name of the module that protoc would generate."""

from __future__ import annotations

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from . import _schema

DESCRIPTOR = _schema.public().file("rpc.proto")

for _name in DESCRIPTOR.message_types_by_name:
    globals()[_name] = _schema.public().message(_name)
for _name, _enumeration in DESCRIPTOR.enum_types_by_name.items():
    globals()[_name] = EnumTypeWrapper(_enumeration)
    globals().update({value.name: value.number for value in _enumeration.values})
