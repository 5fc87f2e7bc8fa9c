// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused the area of restartable sequences at 0x[0-9a-f]+ isn't in writable private memory
#include <sys/rseq.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump refuses an rseq area in shared memory") {
    constexpr unsigned kSize = 32;
    const std::span<std::byte> area = zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const own = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
    if (__rseq_size != 0)
        SYS(syscall(SYS_rseq, own, kSize, RSEQ_FLAG_UNREGISTER, RSEQ_SIG));
    if (syscall(SYS_rseq, area.data(), kSize, 0, RSEQ_SIG) != 0)
        zdtm::skip("no restartable sequences: %s", strerror(errno));
    me.wait_for_check();
    SYS(syscall(SYS_rseq, area.data(), kSize, RSEQ_FLAG_UNREGISTER, RSEQ_SIG));
}
