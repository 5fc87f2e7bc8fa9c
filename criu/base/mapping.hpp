// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <span>
#include <utility>

#include "criu/base/error.hpp"

namespace criu {

/// Address range of a mapping in this process. The destructor unmaps it.
class Mapping {
public:
    Mapping() noexcept = default;
    Mapping(void* start, std::size_t size) noexcept : start_(start), size_(size) {}
    Mapping(Mapping&& other) noexcept
        : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(size_, other.size_);
        return *this;
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (start_ != nullptr)
            ::munmap(start_, size_);
    }

    /// Maps new memory that contains zeroes. With MAP_SHARED, children share it. Throws Error.
    static Mapping anonymous(std::size_t size, int extraFlags = MAP_PRIVATE) {
        void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | extraFlags, -1, 0);
        if (at == MAP_FAILED)
            failErrno("map {} bytes of memory", size);
        return {at, size};
    }

    /// Maps the first `size` bytes of a file for reading. Throws Error.
    static Mapping ofFile(int file, std::size_t size) {
        if (size == 0)
            return {};
        void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
        if (at == MAP_FAILED)
            failErrno("map {} bytes of a file", size);
        return {at, size};
    }

    [[nodiscard]] void* data() const noexcept { return start_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(start_), size_}; }
    template <typename T>
    [[nodiscard]] T* as() const noexcept {
        return static_cast<T*>(start_);
    }

    /// Ends the ownership and returns the address; the range stays mapped.
    void* release() noexcept {
        size_ = 0;
        return std::exchange(start_, nullptr);
    }

private:
    void* start_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace criu
