// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/held.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace criu::cuda {

Held::Held() : memory_(Mapping::anonymous(sizeof(Page), MAP_SHARED)) {}

Held::Page& Held::page() const noexcept {
    return *reinterpret_cast<Page*>(memory_.data());
}

void Held::add(TreePid pid) noexcept {
    const std::uint32_t count = page().count;
    if (count == kMost)
        return;
    page().pids[count] = pid.value;
    __atomic_store_n(&page().count, count + 1, __ATOMIC_RELEASE);
}

void Held::clear() noexcept {
    __atomic_store_n(&page().count, 0U, __ATOMIC_RELEASE);
}

std::vector<TreePid> Held::all() const {
    std::vector<TreePid> found;
    const std::size_t count = std::min<std::size_t>(__atomic_load_n(&page().count, __ATOMIC_ACQUIRE), kMost);
    for (std::size_t i = 0; i < count; ++i)
        found.emplace_back(page().pids[i]);
    return found;
}

}  // namespace criu::cuda
