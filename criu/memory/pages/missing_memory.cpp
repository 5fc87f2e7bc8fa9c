// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/missing_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/kernel/mm/uffd_missing.hpp"

namespace criu::memory {

bool MissingMemory::add(const Range& mapping) noexcept {
    if (!userfaultfd_ && !refused_) {
        userfaultfd_ = kernel::openUffdFill();
        refused_ = !userfaultfd_;
    }
    return userfaultfd_ && kernel::registerUffdMissing(userfaultfd_.get(), mapping.start, mapping.size()) == 0;
}

void MissingMemory::copy(std::uint64_t at, std::span<const std::byte> content) const {
    while (!content.empty()) {
        const kernel::Supplied copied = kernel::uffdCopy(userfaultfd_.get(), at, content);
        std::size_t done = copied.bytes;
        if (done == 0 && copied.code == EEXIST) {
            // The page exists, so the kernel needs no userfaultfd to write to it.
            done = std::min<std::size_t>(machinePageSize(), content.size());
            kernel::writeMemory(::getpid(), at, content.first(done));
        } else if (done == 0) {
            failWith(copied.code, "copy content to new memory at {:#x}", at);
        }
        at += done;
        content = content.subspan(done);
    }
}

}  // namespace criu::memory
