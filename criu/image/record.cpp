// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/record.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/image/record_pool.hpp"

namespace criu {
namespace {

// Check of a message's structure before protobuf-c decodes it. protobuf-c has two faults: it recurses into nested
// messages without limit, and ends a string at a zero byte. The check accepts bytes that it can't parse, because
// protobuf-c rejects them later.
class StructureCheck {
public:
    explicit StructureCheck(std::set<UnknownField>* unknown) noexcept : unknown_(unknown) {}

    void check(const ProtobufCMessageDescriptor& descriptor, std::span<const std::byte> bytes, unsigned depth) const {
        if (depth > kMaxRecordNesting)
            fail("{} is nested deeper than {} levels", descriptor.name, kMaxRecordNesting);
        while (!bytes.empty()) {
            std::uint64_t tag = 0;
            std::uint64_t length = 0;
            if (!takeVarint(bytes, tag))
                return;
            if (unknown_ != nullptr && fieldOf(descriptor, tag >> 3) == nullptr)
                unknown_->insert({descriptor.name, tag >> 3});
            switch (static_cast<unsigned>(tag & 7)) {
                case kVarint: {
                    std::uint64_t value = 0;
                    if (!takeVarint(bytes, value))
                        return;
                    checkNumber(descriptor, tag >> 3, value);
                    break;
                }
                case kFixed64:
                    length = 8;
                    break;
                case kFixed32:
                    length = 4;
                    break;
                case kLengthPrefixed:
                    if (!takeVarint(bytes, length) || length > bytes.size())
                        return;
                    checkField(descriptor, tag >> 3, bytes.first(length), depth);
                    break;
                default:
                    return;
            }
            if (length > bytes.size())
                return;
            bytes = bytes.subspan(length);
        }
    }

private:
    static constexpr unsigned kVarint = 0;
    static constexpr unsigned kFixed64 = 1;
    static constexpr unsigned kLengthPrefixed = 2;
    static constexpr unsigned kFixed32 = 5;

    static const ProtobufCFieldDescriptor* fieldOf(const ProtobufCMessageDescriptor& descriptor, std::uint64_t number) {
        if (number > UINT32_MAX)
            return nullptr;
        return ::protobuf_c_message_descriptor_get_field(&descriptor, static_cast<unsigned>(number));
    }

    /// Throws Error for a negative number in an enumeration. Our enumerations have no negative values. So reading such
    /// a number may be undefined behaviour in C++. Code that uses the field handles all other unknown numbers.
    static void checkNumber(const ProtobufCMessageDescriptor& descriptor, std::uint64_t number, std::uint64_t value) {
        if (static_cast<std::uint32_t>(value) <= INT32_MAX)
            return;
        const ProtobufCFieldDescriptor* const field = fieldOf(descriptor, number);
        if (field != nullptr && field->type == PROTOBUF_C_TYPE_ENUM)
            fail("{}.{} is {}, which isn't one of its values", descriptor.name, field->name,
                 static_cast<std::int32_t>(value));
    }

    void checkField(const ProtobufCMessageDescriptor& descriptor, std::uint64_t number,
                    std::span<const std::byte> value, unsigned depth) const {
        const ProtobufCFieldDescriptor* const field = fieldOf(descriptor, number);
        if (field == nullptr)
            return;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            check(*static_cast<const ProtobufCMessageDescriptor*>(field->descriptor), value, depth + 1);
        else if (field->type == PROTOBUF_C_TYPE_STRING &&
                 std::find(value.begin(), value.end(), std::byte{0}) != value.end())
            fail("{}.{} holds a zero byte", descriptor.name, field->name);
        else if (field->type == PROTOBUF_C_TYPE_ENUM)
            for (std::uint64_t element = 0; takeVarint(value, element);)  // repeated field in packed form
                checkNumber(descriptor, number, element);
    }

    static bool takeVarint(std::span<const std::byte>& bytes, std::uint64_t& value) noexcept {
        value = 0;
        for (unsigned index = 0; index < bytes.size() && index < 10; ++index) {
            const auto byte = std::to_integer<std::uint64_t>(bytes[index]);
            value |= (byte & 0x7f) << (7 * index);
            if ((byte & 0x80) == 0) {
                bytes = bytes.subspan(index + 1);
                return true;
            }
        }
        return false;
    }

    std::set<UnknownField>* unknown_;
};

}  // namespace

AnyRecord decodeMessage(const ProtobufCMessageDescriptor& descriptor, std::span<const std::byte> bytes,
                        std::set<UnknownField>* unknown, RecordPool* pool) {
    StructureCheck(unknown).check(descriptor, bytes, 0);
    AnyRecord message(::protobuf_c_message_unpack(&descriptor, pool == nullptr ? nullptr : pool->allocator(),
                                                  bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data())),
                      MessageDeleter{pool != nullptr});
    if (!message && pool != nullptr && pool->hasRefused())
        failWith(ENOMEM, "store a {} of {} bytes", descriptor.name, bytes.size());
    if (!message)
        fail("{} bytes are not a valid {}", bytes.size(), descriptor.name);
    return message;
}

std::size_t encodedSize(const ProtobufCMessage& message) {
    if (::protobuf_c_message_check(&message) == 0)
        fail("{} lacks a required field", message.descriptor->name);
    return ::protobuf_c_message_get_packed_size(&message);
}

}  // namespace criu
