// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <span>
#include <string>

namespace criu::engine {

class ComparisonSink;
struct Place;

/// Compares two messages of one type, field by field, by the rules of field_rules.hpp. `prefix`: names of the messages
/// around, each with a dot.
void compareMessages(const ProtobufCMessage& image, const ProtobufCMessage& tree, const Place& place,
                     const std::string& prefix, ComparisonSink& sink);

/// Compares two lists of messages of one type. Messages whose type has keys are matched by their keys, other messages
/// by their order. `name`: name of the list, for messages without keys.
void compareLists(std::span<const ProtobufCMessage* const> image, std::span<const ProtobufCMessage* const> tree,
                  const Place& place, const std::string& name, ComparisonSink& sink);

}  // namespace criu::engine
