// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/record_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"

namespace criu {
namespace {

constexpr std::size_t kFirstChunk = std::size_t{256} << 10;
constexpr std::size_t kLargestChunk = std::size_t{64} << 20;
constexpr std::size_t kPage = 4096;

constexpr std::size_t alignUp(std::size_t size, std::size_t alignment) noexcept {
    return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

/// Header of an allocation.
struct alignas(std::max_align_t) RecordPool::Block {
    std::size_t size = 0;   ///< bytes with the header
    Block* next = nullptr;  ///< for a freed block: the next one of the same size
};

RecordPool::RecordPool()
    : allocator_{.alloc = [](void* pool, std::size_t size) { return static_cast<RecordPool*>(pool)->allocate(size); },
                 .free = [](void* pool, void* content) { static_cast<RecordPool*>(pool)->free(content); },
                 .allocator_data = this} {}

RecordPool::~RecordPool() = default;

void* RecordPool::allocate(std::size_t size) noexcept {
    if (!sealed_ && size <= SIZE_MAX / 2) {
        try {
            return take(alignUp(size + sizeof(Block), alignof(Block))) + 1;
        } catch (const std::exception&) {
            // Ignores the failure: the caller gets null, and hasRefused() is true.
        }
    }
    refused_ = true;
    return nullptr;
}

RecordPool::Block* RecordPool::take(std::size_t size) {
    if (const auto freed = freed_.find(size); freed != freed_.end() && freed->second != nullptr)
        return std::exchange(freed->second, freed->second->next);
    if (size > left_) {
        // Doubles the size of each chunk, because each chunk is a mapping, which fork(2) copies.
        const std::size_t last = chunks_.empty() ? kFirstChunk / 2 : chunks_.back().size();
        chunks_.push_back(
            Mapping::anonymous(std::max(std::min(last * 2, kLargestChunk), alignUp(size, kPage)), MAP_SHARED));
        next_ = chunks_.back().as<std::byte>();
        left_ = chunks_.back().size();
    }
    left_ -= size;
    return new (std::exchange(next_, next_ + size)) Block{size, nullptr};
}

void RecordPool::free(void* content) noexcept {
    if (content == nullptr)
        return;
    Block* const block = static_cast<Block*>(content) - 1;
    try {
        block->next = std::exchange(freed_[block->size], block);
    } catch (const std::exception&) {
        // Ignores the failure: the block isn't used again.
    }
}

void RecordPool::seal() {
    sealed_ = true;
    for (const Mapping& chunk : chunks_)
        if (::mprotect(chunk.data(), chunk.size(), PROT_READ) != 0)
            failErrno("make {} bytes of images read-only", chunk.size());
}

}  // namespace criu
