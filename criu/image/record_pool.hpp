// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstddef>
#include <list>
#include <map>

namespace criu {

class Mapping;

/// Memory for decoded messages that processes share after fork(2). The kernel copies no page tables of shared memory at
/// a fork (vma_needs_copy(), mm/memory.c), so a fork doesn't get slower with the number of messages. Only one thread at
/// a time may decode messages into a pool. The pool must outlive its messages.
class RecordPool {
public:
    RecordPool();
    RecordPool(const RecordPool&) = delete;
    RecordPool& operator=(const RecordPool&) = delete;
    ~RecordPool();

    /// Returns the allocator of this pool. It returns null if no memory is left. Freed memory is used again for
    /// allocations of the same size, because protobuf-c needs much memory while it decodes a message.
    [[nodiscard]] ProtobufCAllocator* allocator() noexcept { return &allocator_; }
    /// Returns true if the allocator has returned null.
    [[nodiscard]] bool hasRefused() const noexcept { return refused_; }

    /// Makes the messages read-only, so that no process can change messages of another one. Later allocations fail.
    /// Throws Error.
    void seal();

private:
    struct Block;

    void* allocate(std::size_t size) noexcept;
    Block* take(std::size_t size);
    void free(void* content) noexcept;

    ProtobufCAllocator allocator_;
    std::list<Mapping> chunks_;
    std::byte* next_ = nullptr;            // first free byte of the newest chunk
    std::size_t left_ = 0;                 // number of free bytes in the newest chunk
    std::map<std::size_t, Block*> freed_;  // freed blocks of each size
    bool sealed_ = false;
    bool refused_ = false;
};

}  // namespace criu
