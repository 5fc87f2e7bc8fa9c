// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/sharing.hpp"

#include <algorithm>
#include <atomic>

#include "criu/base/thread_pool.hpp"

namespace criu::kernel {
namespace {

/// Number of processes per thread. Sorting this number takes about as long as starting a thread.
constexpr std::ptrdiff_t kWorthThread = 64;
constexpr std::ptrdiff_t kMostThreads = 16;

}  // namespace

Sharing::Sharing(std::vector<HostPid> processes, KcmpType type) : type_(type), ordered_(std::move(processes)) {
    sort();
}

/// Sorts by merge sort, because it makes the fewest kcmp calls. A sort compares each two equal elements that become
/// adjacent. So the comparison function notices whether any processes share an object.
void Sharing::sort() {
    std::atomic<bool> shared = false;
    const auto before = [&](HostPid a, HostPid b) {
        const std::partial_ordering order = kcmp(a.value, b.value, type_);
        if (order == std::partial_ordering::equivalent)
            shared = true;
        return order == std::partial_ordering::less;
    };
    const auto size = static_cast<std::ptrdiff_t>(ordered_.size());
    const std::ptrdiff_t parts = std::min({size / kWorthThread, kMostThreads, std::ptrdiff_t{availableCores()}});
    if (parts < 2) {
        std::stable_sort(ordered_.begin(), ordered_.end(), before);
    } else {
        ThreadPool pool(static_cast<unsigned>(parts));
        const auto place = [&](std::ptrdiff_t part) { return ordered_.begin() + size * std::min(part, parts) / parts; };
        for (std::ptrdiff_t part = 0; part < parts; ++part)
            pool.submit([&before, from = place(part), to = place(part + 1)] { std::stable_sort(from, to, before); });
        pool.wait();
        for (std::ptrdiff_t width = 1; width < parts; width *= 2) {
            for (std::ptrdiff_t part = 0; part + width < parts; part += 2 * width)
                pool.submit([&before, from = place(part), middle = place(part + width), to = place(part + 2 * width)] {
                    std::inplace_merge(from, middle, to, before);
                });
            pool.wait();
        }
    }
    if (shared)
        group();
}

void Sharing::group() {
    for (std::size_t i = 1; i < ordered_.size(); ++i)
        if (kcmp(ordered_[i - 1].value, ordered_[i].value, type_) == std::partial_ordering::equivalent)
            firstOf_.emplace(ordered_[i], firstOf(ordered_[i - 1]));
}

std::optional<std::pair<HostPid, HostPid>> Sharing::anyPair() const {
    if (firstOf_.empty())
        return std::nullopt;
    const auto& [one, other] = *firstOf_.begin();
    return std::minmax(one, other);
}

HostPid Sharing::firstOf(HostPid process) const {
    const auto found = firstOf_.find(process);
    return found != firstOf_.end() ? found->second : process;
}

std::optional<HostPid> Sharing::partnerOf(HostPid other) const {
    std::size_t first = 0;
    for (std::size_t last = ordered_.size(); first < last;) {
        const std::size_t middle = first + (last - first) / 2;
        const std::partial_ordering order = kcmp(ordered_[middle].value, other.value, type_);
        if (order == std::partial_ordering::equivalent)
            return ordered_[middle];
        if (order == std::partial_ordering::less)
            first = middle + 1;
        else
            last = middle;
    }
    return std::nullopt;
}

}  // namespace criu::kernel
