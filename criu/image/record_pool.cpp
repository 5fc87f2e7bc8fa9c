// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/record_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"

namespace criu {
namespace {

constexpr std::size_t kFirstChunk = std::size_t{256} << 10;
constexpr std::size_t kLargestChunk = std::size_t{64} << 20;

}  // namespace

RecordPool::RecordPool()
    : allocator_{.alloc = [](void* pool, std::size_t size) { return static_cast<RecordPool*>(pool)->allocate(size); },
                 .free = [](void*, void*) {},
                 .allocator_data = this} {}

RecordPool::~RecordPool() = default;

void* RecordPool::allocate(std::size_t size) noexcept {
    constexpr std::size_t kAlignment = alignof(std::max_align_t);
    constexpr std::size_t kPage = 4096;
    if (size > SIZE_MAX / 2)
        return nullptr;
    const std::size_t needed = (size + kAlignment - 1) / kAlignment * kAlignment;
    const std::lock_guard lock(mutex_);
    if (sealed_)
        return nullptr;
    if (needed > left_) {
        // Doubles the size of each chunk, because each chunk is a mapping, which fork(2) copies.
        const std::size_t last = chunks_.empty() ? kFirstChunk / 2 : chunks_.back().size();
        const std::size_t chunk = std::max(std::min(last * 2, kLargestChunk), (needed + kPage - 1) / kPage * kPage);
        try {
            chunks_.push_back(Mapping::anonymous(chunk, MAP_SHARED));
        } catch (const std::exception&) {
            return nullptr;
        }
        next_ = chunks_.back().as<std::byte>();
        left_ = chunk;
    }
    left_ -= needed;
    return std::exchange(next_, next_ + needed);
}

void RecordPool::seal() {
    const std::lock_guard lock(mutex_);
    sealed_ = true;
    for (const Mapping& chunk : chunks_)
        if (::mprotect(chunk.data(), chunk.size(), PROT_READ) != 0)
            failErrno("make {} bytes of images read-only", chunk.size());
}

}  // namespace criu
