// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <type_traits>

#include "images/message_traits.hpp"

namespace criu {

class RecordPool;

/// Maximum bytes of a record, and maximum depth of nested messages. Without these limits, damaged or hostile images
/// could exhaust memory or the stack.
inline constexpr std::size_t kMaxRecordSize = std::size_t{256} << 20;
inline constexpr unsigned kMaxRecordNesting = 100;

/// Frees a decoded message. Doesn't touch a message in a pool, because a sealed pool is read-only, and frees its memory
/// itself.
struct MessageDeleter {
    bool inPool = false;
    void operator()(void* message) const noexcept {
        if (!inPool)
            ::protobuf_c_message_free_unpacked(static_cast<ProtobufCMessage*>(message), nullptr);
    }
};

/// Owner of a decoded message of any type.
using AnyRecord = std::unique_ptr<ProtobufCMessage, MessageDeleter>;

/// Owner of a decoded message and all its data. A message always exists.
template <Message T>
class Record {
public:
    /// Becomes the owner of a message that protobuf-c decoded by the default allocator.
    explicit Record(T* decoded) noexcept : message_(decoded) {}
    /// Becomes the owner of `decoded`, which must be a message of type T.
    explicit Record(AnyRecord decoded) noexcept : message_(reinterpret_cast<T*>(decoded.get()), decoded.get_deleter()) {
        (void)decoded.release();
    }

    [[nodiscard]] const T& operator*() const noexcept { return *message_; }
    [[nodiscard]] T& operator*() noexcept { return *message_; }
    [[nodiscard]] const T* operator->() const noexcept { return message_.get(); }
    [[nodiscard]] T* operator->() noexcept { return message_.get(); }
    [[nodiscard]] const T* get() const noexcept { return message_.get(); }
    [[nodiscard]] T* get() noexcept { return message_.get(); }

private:
    std::unique_ptr<T, MessageDeleter> message_;
};

/// Field that a message contains and that this criu doesn't know, for instance of a newer criu.
struct UnknownField {
    std::string_view message;  ///< name of the message type; valid for the life of the program
    std::uint64_t number = 0;
    friend auto operator<=>(const UnknownField&, const UnknownField&) = default;
};

/// Form of the encoding that decodeMessage() accepts.
enum class Encoding {
    Any,
    /// Only the form that protobuf-c and other libraries write: known wire types, fields in ascending order, a single
    /// value for each field that isn't repeated, shortest numbers. For images whose author isn't trusted: protobuf-c
    /// then never sees malformed bytes, and never merges two values of a nested message.
    Canonical,
};

/// Decodes one message; never returns null. Throws Error if the bytes are invalid, if messages are nested deeper than
/// kMaxRecordNesting, or if a string contains a zero byte. `unknown`: gets the unknown fields of the message and of
/// nested messages; may be null. `pool`: gets the message, and must outlive it; may be null.
AnyRecord decodeMessage(const ProtobufCMessageDescriptor& descriptor, std::span<const std::byte> bytes,
                        std::set<UnknownField>* unknown = nullptr, RecordPool* pool = nullptr,
                        Encoding form = Encoding::Any);

/// Decodes a message of type T that isn't a record of an image, for instance an RPC message or a message in GPU images.
template <Message T>
Record<T> decode(std::span<const std::byte> bytes) {
    return Record<T>(decodeMessage(*MessageTraits<T>::descriptor, bytes));
}

/// Returns the encoded size of a message in bytes. Throws Error if a required field is unset.
std::size_t encodedSize(const ProtobufCMessage& message);

template <Message T>
const ProtobufCMessage& asBase(const T& message) noexcept {
    static_assert(std::is_same_v<decltype(T::base), ProtobufCMessage>);
    return message.base;
}

/// Returns a view of a repeated field: `list(mm->vmas, mm->n_vmas)`.
template <typename T>
std::span<T> list(T* elements, std::size_t count) noexcept {
    return {elements, elements == nullptr ? 0 : count};
}

inline std::span<const std::byte> bytesOf(const ProtobufCBinaryData& field) noexcept {
    return std::as_bytes(std::span(field.data, field.len));
}
/// Returns a bytes field for a message that criu will write. The field points to `bytes`, which must outlive the
/// message.
inline ProtobufCBinaryData fieldOf(std::span<const std::byte> bytes) noexcept {
    return {bytes.size(), const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()))};
}

}  // namespace criu
