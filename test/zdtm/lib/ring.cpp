// SPDX-License-Identifier: GPL-2.0-only
#include "ring.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>

#include "zdtm.hpp"

namespace zdtm {

namespace {

io_uring_params with_flags(unsigned flags) {
    io_uring_params parameters{};
    parameters.flags = flags;
    return parameters;
}

}  // namespace

unsigned ring_threads() {
    unsigned count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (read_file(task.path() / "comm").starts_with("iou-sqp-")) {
            ++count;
        }
    }
    return count;
}

Ring::Ring(unsigned entries, unsigned flags) : Ring(entries, with_flags(flags)) {}

Ring::Ring(unsigned entries, const io_uring_params& parameters) : parameters_(parameters) {
    const unsigned flags = parameters.flags;
    const bool has_thread = (flags & IORING_SETUP_SQPOLL) != 0 && (flags & IORING_SETUP_ATTACH_WQ) == 0;
    const unsigned threads = has_thread ? ring_threads() : 0;
    fd_ = static_cast<int>(syscall(SYS_io_uring_setup, entries, &parameters_));
    if (fd_ < 0) {
        skip("io_uring_setup with flags %#x: %s", flags, strerror(errno));
    }
    while (has_thread && ring_threads() == threads) {
        usleep(1000);
    }
    const bool large = (flags & IORING_SETUP_SQE128) != 0;
    const bool wide = (flags & IORING_SETUP_CQE32) != 0;
    const std::size_t size = std::max(parameters_.sq_off.array + parameters_.sq_entries * sizeof(std::uint32_t),
                                      parameters_.cq_off.cqes + parameters_.cq_entries * std::size_t{wide ? 32U : 16U});
    rings_ = reinterpret_cast<char*>(map(size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, IORING_OFF_SQ_RING).data());
    requests_ = reinterpret_cast<char*>(map(parameters_.sq_entries * std::size_t{large ? 128U : 64U},
                                            PROT_READ | PROT_WRITE, MAP_SHARED, fd_, IORING_OFF_SQES)
                                            .data());
    SYS(madvise(rings_, size, MADV_DONTFORK));
    for (std::uint32_t i = 0; i < parameters_.sq_entries && (flags & no_array) == 0; ++i) {
        // Uses an unusual order: a restore that loses the array would make the usual one.
        (&word(parameters_.sq_off.array))[i] = parameters_.sq_entries - 1 - i;
    }
}

std::uint32_t& Ring::word(std::uint32_t offset) const {
    return *reinterpret_cast<std::uint32_t*>(rings_ + offset);
}

io_uring_sqe& Ring::queue(std::uint8_t kind, std::uint64_t mark) {
    const std::uint32_t mask = parameters_.sq_entries - 1;
    const bool direct = (parameters_.flags & no_array) != 0;
    const std::uint32_t index = direct ? tail_ & mask : mask - (tail_ & mask);
    const bool large = (parameters_.flags & IORING_SETUP_SQE128) != 0;
    auto& request = *reinterpret_cast<io_uring_sqe*>(requests_ + index * (large ? 128U : 64U));
    memset(&request, 0, sizeof(request));
    request.opcode = kind;
    request.user_data = mark;
    ++tail_;
    __atomic_store_n(&word(parameters_.sq_off.tail), tail_, __ATOMIC_RELEASE);
    return request;
}

bool Ring::sleeps() const {
    return (__atomic_load_n(&word(parameters_.sq_off.flags), __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP) != 0;
}

unsigned Ring::taken() const {
    return __atomic_load_n(&word(parameters_.sq_off.head), __ATOMIC_ACQUIRE);
}

void Ring::submit_to_thread(unsigned completions) {
    // The kernel thread sets the flag before it reads the counter of requests a last time.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const unsigned flags = (sleeps() ? IORING_ENTER_SQ_WAKEUP : 0U) | (completions != 0 ? IORING_ENTER_GETEVENTS : 0U);
    if (flags != 0)
        SYS(syscall(SYS_io_uring_enter, fd_, tail_ - submitted_, completions, flags, nullptr, std::size_t{0}));
    submitted_ = tail_;
    while (taken() != submitted_)
        usleep(100);
}

void Ring::submit(unsigned completions) {
    if ((parameters_.flags & IORING_SETUP_SQPOLL) != 0)
        return submit_to_thread(completions);
    const std::uint32_t count = tail_ - submitted_;
    const long taken = syscall(SYS_io_uring_enter, fd_, count, completions,
                               completions != 0 ? IORING_ENTER_GETEVENTS : 0U, nullptr, std::size_t{0});
    CHECK(taken == static_cast<long>(count), "%ld of %u requests taken: %s", taken, count, strerror(errno));
    submitted_ = tail_;
    CHECK(word(parameters_.sq_off.head) == submitted_, "the kernel counts %u requests, not %u",
          word(parameters_.sq_off.head), submitted_);
}

unsigned Ring::waiting() const {
    return __atomic_load_n(&word(parameters_.cq_off.tail), __ATOMIC_ACQUIRE) - taken_;
}

int Ring::take(std::uint64_t mark) {
    CHECK(waiting() != 0, "no completion where that of %llu should be", static_cast<unsigned long long>(mark));
    CHECK(waiting() <= parameters_.cq_entries, "%u completions", waiting());
    const bool wide = (parameters_.flags & IORING_SETUP_CQE32) != 0;
    const std::uint32_t place = taken_ & (parameters_.cq_entries - 1);
    const auto& completion =
        *reinterpret_cast<io_uring_cqe*>(rings_ + parameters_.cq_off.cqes + place * (wide ? 32U : 16U));
    CHECK(completion.user_data == mark, "completion of %llu instead of %llu",
          static_cast<unsigned long long>(completion.user_data), static_cast<unsigned long long>(mark));
    const int result = completion.res;
    ++taken_;
    __atomic_store_n(&word(parameters_.cq_off.head), taken_, __ATOMIC_RELEASE);
    return result;
}

void Ring::spin(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        queue(IORING_OP_NOP, i);
        submit(1);
        const int result = take(i);
        CHECK(result == 0, "a request that does nothing: %s", strerror(-result));
    }
}

void Ring::enroll(unsigned request, const void* argument, unsigned count) const {
    const long result = syscall(SYS_io_uring_register, fd_, request, argument, count);
    CHECK(result >= 0, "io_uring_register %u: %s", request, strerror(errno));
}

WaitingRead::WaitingRead(Ring& ring) : ring_(ring) {
    SYS(pipe(ends_));
    io_uring_sqe& request = ring_.queue(IORING_OP_READ, 1);
    request.fd = ends_[0];
    request.addr = reinterpret_cast<std::uintptr_t>(&byte_);
    request.len = 1;
    ring_.submit();
}

void WaitingRead::finish() {
    SYS(write(ends_[1], "x", 1));
    ring_.submit(1);
    CHECK(ring_.take(1) == 1 && byte_ == 'x', "read %d", byte_);
}

}  // namespace zdtm
