// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/vdso/vdso_proxy.hpp"

#include <algorithm>
#include <set>

#include "criu/memory/vdso/vdso_symbols.hpp"

namespace criu::memory {
namespace {

/// Overwrites functions by jumps. `jump(code, offset, target)` writes one jump and returns its size, or 0 if it doesn't
/// fit.
template <typename Jump>
std::vector<VdsoRedirection> redirect(std::span<std::byte> old, std::span<const std::byte> present,
                                      std::uint64_t presentAt, Jump&& jump) {
    const std::vector<VdsoFunction> there = readVdsoFunctions(present);
    std::vector<VdsoRedirection> redirected;
    std::set<std::uint64_t> done;  // offsets of redirected functions; most functions have two names
    for (const VdsoFunction& function : readVdsoFunctions(old)) {
        const auto same = std::find_if(there.begin(), there.end(),
                                       [&](const VdsoFunction& other) { return other.name == function.name; });
        if (same == there.end() || done.contains(function.offset))
            continue;
        const std::span<std::byte> code = old.subspan(function.offset, function.size);
        const std::size_t size = jump(code, function.offset, presentAt + same->offset);
        if (size == 0)
            continue;
        done.insert(function.offset);
        redirected.push_back({function.name, function.offset, size});
    }
    return redirected;
}

}  // namespace

std::vector<VdsoRedirection> redirectVdso(std::span<std::byte> old, std::span<const std::byte> present,
                                          std::uint64_t presentAt) {
    return redirect(old, present, presentAt, [](std::span<std::byte> code, std::uint64_t, std::uint64_t target) {
        return writeVdsoJump(code, target);
    });
}

std::vector<VdsoRedirection> redirectCompatVdso(std::span<std::byte> old, std::uint64_t oldAt,
                                                std::span<const std::byte> present, std::uint64_t presentAt) {
    return redirect(old, present, presentAt,
                    [oldAt](std::span<std::byte> code, std::uint64_t offset, std::uint64_t target) {
                        return writeCompatVdsoJump(code, oldAt + offset, target);
                    });
}

}  // namespace criu::memory
