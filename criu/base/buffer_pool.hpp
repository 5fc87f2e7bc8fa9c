// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "criu/base/mapping.hpp"

namespace criu {

/// Pool of buffers with one size. It creates as many buffers as threads use at the same time. Reuse avoids page faults,
/// because the kernel has already allocated the memory of a returned buffer.
class BufferPool {
public:
    explicit BufferPool(std::size_t size) noexcept : size_(size) {}

    /// Buffer from the pool, which the destructor returns to the pool.
    class Use {
    public:
        explicit Use(BufferPool& from) : from_(from), buffer_(from.take()) {}
        ~Use() { from_.giveBack(std::move(buffer_)); }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        /// Returns the first `bytes` bytes, at most the buffer size of the pool. They contain the data of earlier uses.
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
        free_.push_back(std::move(buffer));  // can't fail, because take() has reserved space in the vector
    }

    const std::size_t size_;
    std::mutex mutex_;
    std::vector<Mapping> free_;
    std::size_t made_ = 0;
};

}  // namespace criu
