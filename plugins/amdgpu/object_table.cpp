// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/object_table.hpp"

#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/fd_store.hpp"

namespace criu::amdgpu {
namespace {

// Maximum number of attempts. A process that creates a buffer never waits for another process. So a reader reaches this
// limit only if the creator has died.
constexpr int kTries = 60'000;
constexpr useconds_t kPause = 1000;

}  // namespace

NumberTable::NumberTable(const std::set<std::uint64_t>& wanted) {
    for (const std::uint64_t key : wanted)
        places_.emplace(key, places_.size());
    slots_ = Mapping::anonymous(pageAlignUp((places_.size() + 1) * sizeof(Slot)), MAP_SHARED);
}

void NumberTable::publish(std::uint64_t key, std::uint64_t number) const {
    Slot& to = slot(key);
    to.number = number;
    to.ready.store(1, std::memory_order_release);
}

std::uint64_t NumberTable::fetch(std::uint64_t key) const {
    const Slot& from = slot(key);
    for (int tries = 0; from.ready.load(std::memory_order_acquire) == 0; ++tries) {
        if (tries == kTries)
            fail("GPU buffer {:#x} wasn't made by its owner", key);
        ::usleep(kPause);
    }
    return from.number;
}

void ObjectTable::publish(std::uint64_t object, int fd) const {
    numbers_.publish(object, store_->add(fd).value);
}

UniqueFd ObjectTable::fetch(std::uint64_t object) const {
    return store_->get({static_cast<std::uint32_t>(numbers_.fetch(object))});
}

}  // namespace criu::amdgpu
