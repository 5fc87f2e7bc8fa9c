// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/object_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/pidfd.hpp"

namespace criu::amdgpu {
namespace {

// Owners wait for nobody, so this only ends a wait for one that has died; then the master is about to end all.
constexpr int kTries = 60'000;
constexpr useconds_t kPause = 1000;

}  // namespace

ObjectTable::ObjectTable(const std::set<std::uint64_t>& wanted) {
    for (const std::uint64_t object : wanted)
        places_.emplace(object, places_.size());
    slots_ = Mapping::anonymous(pageAlignUp((places_.size() + 1) * sizeof(Slot)), MAP_SHARED);
}

void ObjectTable::publish(std::uint64_t object, int fd) const {
    Slot& to = slot(object);
    to.pid = ::getpid();
    to.fd = fd;
    to.ready.store(1, std::memory_order_release);
}

UniqueFd ObjectTable::fetch(std::uint64_t object) const {
    const Slot& from = slot(object);
    for (int tries = 0; from.ready.load(std::memory_order_acquire) == 0; ++tries) {
        if (tries == kTries)
            fail("GPU buffer {} wasn't made by its owner", object);
        ::usleep(kPause);
    }
    if (from.pid == ::getpid())
        return UniqueFd(sys(::fcntl(from.fd, F_DUPFD_CLOEXEC, 0), "copy the DMA-BUF of GPU buffer {}", object));
    return kernel::PidFd(from.pid).getFd(from.fd);
}

}  // namespace criu::amdgpu
