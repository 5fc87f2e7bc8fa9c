// SPDX-License-Identifier: GPL-2.0-only
// A ring of io_uring(7), made by plain system calls.
#pragma once

#include <linux/io_uring.h>

#include <cstdint>

namespace zdtm {

// Returns the number of kernel threads that submit requests of this process (IORING_SETUP_SQPOLL).
unsigned ring_threads();

class Ring {
public:
    static constexpr unsigned no_array = 1U << 16;  // IORING_SETUP_NO_SQARRAY

    // Skips the test if the kernel lacks io_uring or one of the flags. Waits until a new kernel thread has its name,
    // because the kernel gives it one only when it runs (io_sq_thread() of Linux).
    explicit Ring(unsigned entries, unsigned flags = 0);
    // Fields of `parameters` that the caller sets: flags, sq_thread_cpu, sq_thread_idle, wq_fd.
    Ring(unsigned entries, const io_uring_params& parameters);

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] const io_uring_params& parameters() const { return parameters_; }

    // Queues a request with this opcode and user data. The kernel sees it at submit().
    io_uring_sqe& queue(std::uint8_t kind, std::uint64_t mark);
    // Submits all queued requests, which the kernel must accept. Waits for that many completions. With
    // IORING_SETUP_SQPOLL, wakes the kernel thread if it sleeps, and waits until it has taken the requests.
    void submit(unsigned completions = 0);
    // Takes the next completion, which must have this user data. Returns its result.
    int take(std::uint64_t mark);
    // Returns the number of unread completions.
    [[nodiscard]] unsigned waiting() const;
    // Returns true if the kernel thread of the ring sleeps (IORING_SQ_NEED_WAKEUP).
    [[nodiscard]] bool sleeps() const;
    // Returns the number of requests that the kernel has taken.
    [[nodiscard]] unsigned taken() const;
    // Runs requests that do nothing, one after the other, to advance the counters.
    void spin(unsigned count);
    // Calls io_uring_register(2), which must succeed.
    void enroll(unsigned request, const void* argument, unsigned count) const;

private:
    std::uint32_t& word(std::uint32_t offset) const;
    void submit_to_thread(unsigned completions);

    int fd_ = -1;
    io_uring_params parameters_{};
    char* rings_ = nullptr;
    char* requests_ = nullptr;
    // The program's copy of the counters, as in libraries: never read again from the ring.
    std::uint32_t tail_ = 0;
    std::uint32_t submitted_ = 0;
    std::uint32_t taken_ = 0;
};

// Request of a ring that waits for a byte in a pipe.
class WaitingRead {
public:
    explicit WaitingRead(Ring& ring);
    // Writes the byte. The request must then end with it.
    void finish();

private:
    Ring& ring_;
    int ends_[2]{};
    char byte_ = 0;
};

}  // namespace zdtm
