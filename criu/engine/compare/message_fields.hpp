// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "images/message_traits.hpp"

/// Access to fields of messages whose type is known only at run time.
namespace criu::engine {

using MessageField = ProtobufCFieldDescriptor;

/// Returns a message as one of type T, which the caller knows to be its type.
template <Message T>
const T& viewAs(const ProtobufCMessage& message) noexcept {
    return reinterpret_cast<const T&>(message);
}

/// Returns the fields of a message's type, in ascending order of their numbers.
[[nodiscard]] std::span<const MessageField> fieldsOf(const ProtobufCMessage& message) noexcept;

/// Returns the number of values that a field has: 0 or 1 unless it is repeated.
[[nodiscard]] std::size_t countOf(const ProtobufCMessage& message, const MessageField& field) noexcept;

/// Returns the address of a value. `index` must be below countOf().
[[nodiscard]] const void* valueOf(const ProtobufCMessage& message, const MessageField& field,
                                  std::size_t index) noexcept;

/// Returns a value of the field as a number; nothing for texts, bytes, messages and floating point numbers. Negative
/// numbers are two's complements.
[[nodiscard]] std::optional<std::uint64_t> numberOf(const MessageField& field, const void* value) noexcept;

/// Returns the nested message of a value, or null if the field has another type.
[[nodiscard]] const ProtobufCMessage* messageOf(const MessageField& field, const void* value) noexcept;

/// Returns the bytes of a text or bytes value.
[[nodiscard]] std::string_view bytesOf(const MessageField& field, const void* value) noexcept;

/// Returns true if two values of a field that is no message are equal.
[[nodiscard]] bool areEqual(const MessageField& field, const void* one, const void* other) noexcept;

/// Returns a value that is no message in words, for instance 33188 (0x81a4).
[[nodiscard]] std::string textOf(const MessageField& field, const void* value);

/// Returns the field of that name, or null.
[[nodiscard]] const MessageField* findField(const ProtobufCMessage& message, std::string_view name) noexcept;

/// Returns the number in an optional or required field, or nothing if it is absent.
[[nodiscard]] std::optional<std::uint64_t> numberIn(const ProtobufCMessage& message, std::string_view name) noexcept;

}  // namespace criu::engine
