// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/enter.hpp"

#include <sys/auxv.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "interpreter.hpp"

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
    for (const unsigned size : {32U, (feature + 31) & ~31U, __rseq_size})
        if (::syscall(SYS_rseq, area, size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0)
            return;
    failErrno("unregister restartable sequences");
}

}  // namespace criu::pie
