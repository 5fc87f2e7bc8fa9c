// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/message_fields.hpp"

#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "criu/base/printable.hpp"

namespace criu::engine {
namespace {

const void* at(const ProtobufCMessage& message, std::size_t offset) noexcept {
    return reinterpret_cast<const std::byte*>(&message) + offset;
}

std::size_t sizeOf(const MessageField& field) noexcept {
    switch (field.type) {
        case PROTOBUF_C_TYPE_INT32:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_SFIXED32:
        case PROTOBUF_C_TYPE_UINT32:
        case PROTOBUF_C_TYPE_FIXED32:
        case PROTOBUF_C_TYPE_FLOAT:
            return 4;
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE:
            return 8;
        case PROTOBUF_C_TYPE_ENUM:
            return sizeof(int);
        case PROTOBUF_C_TYPE_BOOL:
            return sizeof(protobuf_c_boolean);
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE:
            return sizeof(void*);
        case PROTOBUF_C_TYPE_BYTES:
            return sizeof(ProtobufCBinaryData);
    }
    return 0;
}

template <typename T>
T load(const void* value) noexcept {
    T loaded;
    std::memcpy(&loaded, value, sizeof(loaded));
    return loaded;
}

std::string textOfNumber(std::uint64_t number) {
    constexpr std::uint64_t kAlsoHexadecimal = 256;
    return number < kAlsoHexadecimal ? fmt::format("{}", number) : fmt::format("{} ({:#x})", number, number);
}

std::string textOfBytes(std::string_view bytes) {
    constexpr std::size_t kMost = 16;
    std::string out = fmt::format("{} bytes", bytes.size());
    for (std::size_t i = 0; i < bytes.size() && i < kMost; ++i)
        fmt::format_to(std::back_inserter(out), "{}{:02x}", i == 0 ? ": " : " ", static_cast<unsigned char>(bytes[i]));
    if (bytes.size() > kMost)
        out += " ...";
    return out;
}

}  // namespace

std::span<const MessageField> fieldsOf(const ProtobufCMessage& message) noexcept {
    return {message.descriptor->fields, message.descriptor->n_fields};
}

std::size_t countOf(const ProtobufCMessage& message, const MessageField& field) noexcept {
    switch (field.label) {
        case PROTOBUF_C_LABEL_REPEATED:
            return load<std::size_t>(at(message, field.quantifier_offset));
        case PROTOBUF_C_LABEL_REQUIRED:
            break;
        case PROTOBUF_C_LABEL_OPTIONAL:
        case PROTOBUF_C_LABEL_NONE:
            if (field.type != PROTOBUF_C_TYPE_STRING && field.type != PROTOBUF_C_TYPE_MESSAGE)
                return load<protobuf_c_boolean>(at(message, field.quantifier_offset)) != 0 ? 1 : 0;
            break;
    }
    if (field.type != PROTOBUF_C_TYPE_STRING && field.type != PROTOBUF_C_TYPE_MESSAGE)
        return 1;
    const void* const pointer = load<const void*>(at(message, field.offset));
    return pointer != nullptr && pointer != field.default_value ? 1 : 0;
}

const void* valueOf(const ProtobufCMessage& message, const MessageField& field, std::size_t index) noexcept {
    const void* const start = at(message, field.offset);
    if (field.label != PROTOBUF_C_LABEL_REPEATED)
        return start;
    return load<const std::byte*>(start) + index * sizeOf(field);
}

std::optional<std::uint64_t> numberOf(const MessageField& field, const void* value) noexcept {
    switch (field.type) {
        case PROTOBUF_C_TYPE_INT32:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_SFIXED32:
        case PROTOBUF_C_TYPE_ENUM:
            return static_cast<std::uint64_t>(std::int64_t{load<std::int32_t>(value)});
        case PROTOBUF_C_TYPE_UINT32:
        case PROTOBUF_C_TYPE_FIXED32:
            return load<std::uint32_t>(value);
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
            return load<std::uint64_t>(value);
        case PROTOBUF_C_TYPE_BOOL:
            return load<protobuf_c_boolean>(value) != 0 ? 1 : 0;
        case PROTOBUF_C_TYPE_FLOAT:
        case PROTOBUF_C_TYPE_DOUBLE:
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_BYTES:
        case PROTOBUF_C_TYPE_MESSAGE:
            break;
    }
    return std::nullopt;
}

const ProtobufCMessage* messageOf(const MessageField& field, const void* value) noexcept {
    return field.type == PROTOBUF_C_TYPE_MESSAGE ? load<const ProtobufCMessage*>(value) : nullptr;
}

std::string_view bytesOf(const MessageField& field, const void* value) noexcept {
    if (field.type == PROTOBUF_C_TYPE_STRING) {
        const auto* const text = load<const char*>(value);
        return text != nullptr ? std::string_view(text) : std::string_view();
    }
    const auto data = load<ProtobufCBinaryData>(value);
    return data.data != nullptr ? std::string_view(reinterpret_cast<const char*>(data.data), data.len)
                                : std::string_view();
}

bool areEqual(const MessageField& field, const void* one, const void* other) noexcept {
    switch (field.type) {
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_BYTES:
            return bytesOf(field, one) == bytesOf(field, other);
        case PROTOBUF_C_TYPE_FLOAT:
        case PROTOBUF_C_TYPE_DOUBLE:
            return std::memcmp(one, other, sizeOf(field)) == 0;
        default:
            return numberOf(field, one) == numberOf(field, other);
    }
}

std::string textOf(const MessageField& field, const void* value) {
    switch (field.type) {
        case PROTOBUF_C_TYPE_STRING:
            return fmt::format("\"{}\"", printable(bytesOf(field, value)));
        case PROTOBUF_C_TYPE_BYTES:
            return textOfBytes(bytesOf(field, value));
        case PROTOBUF_C_TYPE_BOOL:
            return numberOf(field, value) != 0 ? "true" : "false";
        case PROTOBUF_C_TYPE_FLOAT:
            return fmt::format("{}", load<float>(value));
        case PROTOBUF_C_TYPE_DOUBLE:
            return fmt::format("{}", load<double>(value));
        case PROTOBUF_C_TYPE_ENUM: {
            const auto* const names = static_cast<const ProtobufCEnumDescriptor*>(field.descriptor);
            const auto number = load<int>(value);
            const ProtobufCEnumValue* const known = ::protobuf_c_enum_descriptor_get_value(names, number);
            return known != nullptr ? std::string(known->name) : fmt::format("{}", number);
        }
        case PROTOBUF_C_TYPE_INT32:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_SFIXED32:
            return fmt::format("{}", load<std::int32_t>(value));
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
            return fmt::format("{}", load<std::int64_t>(value));
        default:
            return textOfNumber(numberOf(field, value).value_or(0));
    }
}

const MessageField* findField(const ProtobufCMessage& message, std::string_view name) noexcept {
    for (const MessageField& field : fieldsOf(message))
        if (field.name == name)
            return &field;
    return nullptr;
}

std::optional<std::uint64_t> numberIn(const ProtobufCMessage& message, std::string_view name) noexcept {
    const MessageField* const field = findField(message, name);
    if (field == nullptr || field->label == PROTOBUF_C_LABEL_REPEATED || countOf(message, *field) == 0)
        return std::nullopt;
    return numberOf(*field, valueOf(message, *field, 0));
}

}  // namespace criu::engine
