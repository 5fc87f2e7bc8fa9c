// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/enter.hpp"

#include <linux/sched.h>
#include <sys/auxv.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <compel/blob/syscall.hpp>

#include "criu/base/arch.hpp"
#include "criu/base/error.hpp"
#include "interpreter.hpp"

// clang-format off
#include CRIU_ARCH_HEADER(pie/blob/arch/CRIU_ARCH/calls.hpp)
// clang-format on

namespace criu::pie {

const compel::Blob& interpreterBlob() noexcept {
    return interpreter::blob;
}

void dropRseq() {
    constexpr unsigned kFeatureSizeEntry = 27;  // AT_RSEQ_FEATURE_SIZE
    if (__rseq_size == 0)
        return;
    auto* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
    const auto feature = static_cast<unsigned>(::getauxval(kFeatureSizeEntry));
    const auto call = [&](unsigned size, int flags) { return ::syscall(SYS_rseq, area, size, flags, RSEQ_SIG) == 0; };
    constexpr unsigned kFirstSize = 32;
    for (const unsigned size : {kFirstSize, (feature + 31) & ~31U, __rseq_size})
        if (call(size, RSEQ_FLAG_UNREGISTER))
            return;
    // Checks whether the thread has an rseq area at all: the kernel accepts a second registration only if it has none.
    // A thread that libc hasn't created has no area (rseq_fork() in <linux/rseq.h>).
    if (!call(kFirstSize, 0) || !call(kFirstSize, RSEQ_FLAG_UNREGISTER))
        failErrno("unregister restartable sequences");
}

std::int64_t rawCall(std::int64_t number, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) noexcept {
    return compel::blob::syscall(number, a, b, c, d);
}

std::int64_t startThread(const clone_args& args, void (*entry)(std::uint64_t), std::uint64_t argument) noexcept {
    return arch::cloneThread(reinterpret_cast<const std::uint64_t*>(&args), sizeof(args), entry, argument);
}

}  // namespace criu::pie
