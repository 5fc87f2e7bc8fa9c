// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// A user queue of a GPU: ring, indexes, doorbell, and the packets that tests need.
#include <cstdint>
#include <span>

#include "gpu/kfd.hpp"

namespace gpu {

class Queue {
public:
    enum class Kind { kSdma, kPm4, kAql };

    // Puts ring and indexes into system memory that the GPU sees. `ring_size` is in bytes, a power of two.
    Queue(const Kfd& kfd, const Gpu& gpu, Kind kind, std::uint32_t ring_size = 16384);

    // Adds 1 to the 64-bit counter at an address (SDMA, PM4), or takes 1 from a signal's value (AQL). Returns false if
    // the ring has no room.
    bool try_count(std::uint64_t address);
    // SDMA only. The functions wait for room in the ring.
    void copy(std::uint64_t to, std::uint64_t from, std::uint64_t size);
    void raise(std::uint32_t event);

    // Writes the doorbell, so that the GPU sees new packets.
    void ring();
    // Waits until all packets are executed. Throws Failure after a timeout.
    void finish();
    bool idle() const;

    std::uint32_t id() const { return id_; }
    void destroy();

private:
    bool try_put(std::span<const std::uint32_t> packet);
    void put(std::span<const std::uint32_t> packet);
    std::uint64_t done() const;
    std::uint64_t unit() const;
    void add_save_area(const Gpu& gpu, kfd_ioctl_create_queue_args& arguments);

    const Kfd& kfd_;
    Kind kind_;
    std::uint32_t family_;
    std::uint32_t id_ = 0;
    Memory ring_;
    Memory indexes_;
    Memory doorbells_;
    Memory eop_;                 // end-of-pipe events of a compute queue
    std::span<std::byte> area_;  // where waves of a compute queue are saved
    volatile std::uint64_t* read_ = nullptr;
    volatile std::uint64_t* write_ = nullptr;
    volatile std::uint64_t* doorbell_ = nullptr;
    std::uint64_t put_ = 0;  // in the unit of the queue: bytes, dwords or packets
};

}  // namespace gpu
