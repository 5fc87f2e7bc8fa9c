// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <type_traits>

#include "images/message_traits.hpp"

namespace criu {

/// Memory for messages that criu composes. Allocations live until clear() or the end of the arena. Only one thread may
/// use an arena at a time; a separate arena for each thread is cheap.
class Arena {
public:
    Arena() : memory_(std::make_unique<std::pmr::monotonic_buffer_resource>(kFirstBlock)) {}

    /// Allocates a message with default values: required fields are zero, optional fields absent, and lists empty.
    template <Message T>
    T* make() {
        return initialise(allocate<T>(1));
    }

    /// Allocates `count` messages with default values, and an array of pointers to them for a repeated field:
    /// `mm->n_vmas = n; mm->vmas = arena.messages<VmaEntry>(n);`
    template <Message T>
    T** messages(std::size_t count) {
        T* const all = allocate<T>(count);
        T** const pointers = allocate<T*>(count);
        for (std::size_t index = 0; index < count; ++index)
            pointers[index] = initialise(all + index);
        return pointers;
    }

    /// Allocates an array of zeroes or null pointers, such as array<char*>(2). Returns null if `count` is 0.
    template <typename T>
    requires std::is_trivially_copyable_v<T> T* array(std::size_t count) {
        if (count == 0)
            return nullptr;
        T* const elements = allocate<T>(count);
        std::memset(static_cast<void*>(elements), 0, count * sizeof(T));
        return elements;
    }

    /// Copies the elements of a repeated field into the arena. Returns null if there are no elements.
    template <typename T>
    requires std::is_trivially_copyable_v<T> T* copy(std::span<const T> elements) {
        T* const copied = elements.empty() ? nullptr : allocate<T>(elements.size());
        std::copy(elements.begin(), elements.end(), copied);
        return copied;
    }

    /// Copies a text into the arena, followed by a zero byte.
    char* string(std::string_view text) {
        char* const copied = allocate<char>(text.size() + 1);
        std::copy(text.begin(), text.end(), copied);
        copied[text.size()] = '\0';
        return copied;
    }

    /// Copies the value of a bytes field into the arena.
    ProtobufCBinaryData bytes(std::span<const std::byte> content) {
        ProtobufCBinaryData field{content.size(), nullptr};
        field.data = reinterpret_cast<std::uint8_t*>(copy(content));
        return field;
    }

    /// Frees all allocations.
    void clear() noexcept { memory_->release(); }

private:
    static constexpr std::size_t kFirstBlock = 4096;

    template <typename T>
    T* allocate(std::size_t count) {
        if (count > SIZE_MAX / sizeof(T))
            throw std::bad_array_new_length();
        return static_cast<T*>(memory_->allocate(count * sizeof(T), alignof(T)));
    }

    template <Message T>
    static T* initialise(T* message) noexcept {
        MessageTraits<T>::descriptor->message_init(&message->base);
        return message;
    }

    std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
};

}  // namespace criu
