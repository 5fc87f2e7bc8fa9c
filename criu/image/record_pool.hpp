// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstddef>
#include <list>
#include <mutex>

namespace criu {

class Mapping;

/// Memory for decoded messages that processes share after fork(2). The kernel copies no page tables of shared memory at
/// a fork (vma_needs_copy(), mm/memory.c), so a fork doesn't get slower with the number of messages. Memory of a freed
/// message isn't used again. Any thread may decode messages into a pool. The pool must outlive its messages.
class RecordPool {
public:
    RecordPool();
    RecordPool(const RecordPool&) = delete;
    RecordPool& operator=(const RecordPool&) = delete;
    ~RecordPool();

    /// Returns the allocator of this pool. It returns null if no memory is left, and its free function does nothing.
    [[nodiscard]] ProtobufCAllocator* allocator() noexcept { return &allocator_; }

    /// Makes the messages read-only, so that no process can change messages of another one. Later allocations fail.
    /// Throws Error.
    void seal();

private:
    void* allocate(std::size_t size) noexcept;

    ProtobufCAllocator allocator_;
    std::mutex mutex_;
    std::list<Mapping> chunks_;
    std::byte* next_ = nullptr;  // first free byte of the newest chunk
    std::size_t left_ = 0;       // number of free bytes in the newest chunk
    bool sealed_ = false;
};

}  // namespace criu
