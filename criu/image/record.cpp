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
// messages without limit, and ends a string at a zero byte. Without Encoding::Canonical, the check accepts bytes that
// it can't parse, because protobuf-c rejects them later.
class StructureCheck {
public:
    StructureCheck(std::set<UnknownField>* unknown, Encoding form) noexcept
        : unknown_(unknown), canonical_(form == Encoding::Canonical) {}

    void check(const ProtobufCMessageDescriptor& descriptor, std::span<const std::byte> bytes, unsigned depth) const {
        if (depth > kMaxRecordNesting)
            fail("{} is nested deeper than {} levels", descriptor.name, kMaxRecordNesting);
        std::uint64_t last = 0;
        while (!bytes.empty()) {
            std::uint64_t tag = 0;
            std::uint64_t length = 0;
            if (!takeVarint(bytes, tag))
                return refuse(descriptor, last);
            const std::uint64_t number = tag >> 3;
            const auto wire = static_cast<unsigned>(tag & 7);
            const ProtobufCFieldDescriptor* const field = fieldOf(descriptor, number);
            if (unknown_ != nullptr && field == nullptr)
                unknown_->insert({descriptor.name, number});
            if (canonical_ && (number < last || !fits(field, wire, number == last)))
                return refuse(descriptor, number);
            last = number;
            switch (wire) {
                case kVarint: {
                    std::uint64_t value = 0;
                    if (!takeVarint(bytes, value))
                        return refuse(descriptor, number);
                    checkNumber(descriptor, number, value);
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
                        return refuse(descriptor, number);
                    checkField(descriptor, number, bytes.first(length), depth);
                    break;
                default:
                    return refuse(descriptor, number);
            }
            if (length > bytes.size())
                return refuse(descriptor, number);
            bytes = bytes.subspan(length);
        }
    }

private:
    static constexpr unsigned kVarint = 0;
    static constexpr unsigned kFixed64 = 1;
    static constexpr unsigned kLengthPrefixed = 2;
    static constexpr unsigned kFixed32 = 5;

    /// Throws Error in canonical form. Else the caller ends the check, and protobuf-c rejects the message.
    void refuse(const ProtobufCMessageDescriptor& descriptor, std::uint64_t number) const {
        if (canonical_)
            fail("{} isn't in canonical form at field {}, which --untrusted requires", descriptor.name, number);
    }

    /// Returns the wire type of a single value.
    static unsigned wireOf(ProtobufCType type) noexcept {
        switch (type) {
            case PROTOBUF_C_TYPE_SFIXED32:
            case PROTOBUF_C_TYPE_FIXED32:
            case PROTOBUF_C_TYPE_FLOAT:
                return kFixed32;
            case PROTOBUF_C_TYPE_SFIXED64:
            case PROTOBUF_C_TYPE_FIXED64:
            case PROTOBUF_C_TYPE_DOUBLE:
                return kFixed64;
            case PROTOBUF_C_TYPE_STRING:
            case PROTOBUF_C_TYPE_BYTES:
            case PROTOBUF_C_TYPE_MESSAGE:
                return kLengthPrefixed;
            default:
                return kVarint;
        }
    }

    /// Returns true if a field may have a wire type. A repeated number may be in packed form. `again`: true if the
    /// field precedes. Accepts unknown fields, because ImageReader reports them.
    static bool fits(const ProtobufCFieldDescriptor* field, unsigned wire, bool again) noexcept {
        if (field == nullptr)
            return true;
        const bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        const unsigned usual = wireOf(field->type);
        return (repeated || !again) && (wire == usual || (repeated && wire == kLengthPrefixed));
    }

    /// Returns true if `value` consists of complete numbers.
    [[nodiscard]] bool isPacked(std::span<const std::byte> value, unsigned wire) const noexcept {
        if (wire != kVarint)
            return value.size() % (wire == kFixed32 ? 4 : 8) == 0;
        std::uint64_t element = 0;
        while (!value.empty())
            if (!takeVarint(value, element))
                return false;
        return true;
    }

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
        if (const unsigned wire = wireOf(field->type); wire != kLengthPrefixed && !isPacked(value, wire))
            refuse(descriptor, number);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            check(*static_cast<const ProtobufCMessageDescriptor*>(field->descriptor), value, depth + 1);
        else if (field->type == PROTOBUF_C_TYPE_STRING &&
                 std::find(value.begin(), value.end(), std::byte{0}) != value.end())
            fail("{}.{} holds a zero byte", descriptor.name, field->name);
        else if (field->type == PROTOBUF_C_TYPE_ENUM)
            for (std::uint64_t element = 0; takeVarint(value, element);)  // repeated field in packed form
                checkNumber(descriptor, number, element);
    }

    /// Reads a number. Returns false if it is incomplete or too long; in canonical form, also if it isn't the shortest.
    [[nodiscard]] bool takeVarint(std::span<const std::byte>& bytes, std::uint64_t& value) const noexcept {
        value = 0;
        for (unsigned index = 0; index < bytes.size() && index < 10; ++index) {
            const auto byte = std::to_integer<std::uint64_t>(bytes[index]);
            value |= (byte & 0x7f) << (7 * index);
            if ((byte & 0x80) == 0) {
                if (canonical_ && index > 0 && byte == 0)
                    return false;
                bytes = bytes.subspan(index + 1);
                return true;
            }
        }
        return false;
    }

    std::set<UnknownField>* unknown_;
    const bool canonical_;
};

}  // namespace

AnyRecord decodeMessage(const ProtobufCMessageDescriptor& descriptor, std::span<const std::byte> bytes,
                        std::set<UnknownField>* unknown, RecordPool* pool, Encoding form) {
    StructureCheck(unknown, form).check(descriptor, bytes, 0);
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
