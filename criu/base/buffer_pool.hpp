// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "criu/base/mapping.hpp"

namespace criu {

/// Buffers of one size, as many as threads use at the same time. Reuse saves page faults, because a returned buffer
/// has its memory.
class BufferPool {
public:
    explicit BufferPool(std::size_t size) noexcept : size_(size) {}

    /// A buffer that this object holds until its destructor returns it to the pool.
    class Use {
    public:
        explicit Use(BufferPool& from) : from_(from), buffer_(from.take()) {}
        ~Use() { from_.giveBack(std::move(buffer_)); }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        /// Returns the first `bytes` bytes, at most the pool's buffer size. Their content is left from earlier uses.
        [[nodiscard]] std::span<std::byte> first(std::size_t bytes) noexcept { return buffer_.bytes().first(bytes); }

    private:
        BufferPool& from_;
        Mapping buffer_;
    };

private:
    Mapping take() {
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                Mapping buffer = std::move(free_.back());
                free_.pop_back();
                return buffer;
            }
            free_.reserve(++made_);
        }
        return Mapping::anonymous(size_);
    }
    void giveBack(Mapping buffer) noexcept {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(buffer));  // the constructor of Use reserved room
    }

    const std::size_t size_;
    std::mutex mutex_;
    std::vector<Mapping> free_;
    std::size_t made_ = 0;
};

}  // namespace criu
