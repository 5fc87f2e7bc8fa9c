// SPDX-License-Identifier: GPL-2.0-only
// A ring of io_uring(7) by plain system calls.
#pragma once

#include <linux/io_uring.h>

#include <cstdint>

namespace zdtm {

class Ring {
public:
    static constexpr unsigned no_array = 1U << 16;  // IORING_SETUP_NO_SQARRAY

    // Skips the test if there is no io_uring, or not with these flags.
    explicit Ring(unsigned entries, unsigned flags = 0);

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] const io_uring_params& parameters() const { return parameters_; }

    // Queues a request of this kind and mark; nobody knows of it until submit().
    io_uring_sqe& queue(std::uint8_t kind, std::uint64_t mark);
    // Submits what is queued; all of it must be taken. Waits until `completions` are there.
    void submit(unsigned completions = 0);
    // The next completion, which must be there and have this mark; returns its result.
    int take(std::uint64_t mark);
    // Completions that are there.
    [[nodiscard]] unsigned waiting() const;
    // Requests that do nothing, one after the other, so that the counters move.
    void spin(unsigned count);
    // io_uring_register(2); fails the test if that does.
    void enroll(unsigned request, const void* argument, unsigned count) const;

private:
    std::uint32_t& word(std::uint32_t offset) const;

    int fd_ = -1;
    io_uring_params parameters_{};
    char* rings_ = nullptr;
    char* requests_ = nullptr;
    // The program's own idea of the counters, as libraries have it: it is not read again from the ring.
    std::uint32_t tail_ = 0;
    std::uint32_t submitted_ = 0;
    std::uint32_t taken_ = 0;
};

}  // namespace zdtm
