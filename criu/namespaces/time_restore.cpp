// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/time_restore.hpp"

#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include <limits>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/features.hpp"
#include "criu/kernel/time_offsets.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "images/timens.hpp"

namespace criu::namespaces {
namespace {

using kernel::ClockTime;
using kernel::NamespaceKind;
using kernel::TimeOffsets;

ClockTime fromImage(const Timespec& time) {
    constexpr std::uint64_t kMostSeconds = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (time.tv_sec > kMostSeconds || time.tv_nsec >= kSecond)
        fail("the images hold a time of {} s and {} ns, which no clock can have", time.tv_sec, time.tv_nsec);
    return {static_cast<std::int64_t>(time.tv_sec), static_cast<std::int64_t>(time.tv_nsec)};
}

class TimeRestore final : public NamespaceRestore {
public:
    /// `number`: of the tree's own namespace; 0: it was in that of criu.
    TimeRestore(const ImageDir& images, std::uint32_t number, Log& log) : needed_(number != 0), log_(log) {
        const auto entry = images.openRequired(ImageKind::Timens, number).only<TimensEntry>();
        monotonic_ = fromImage(*entry->monotonic);
        boottime_ = fromImage(*entry->boottime);
    }

    /// clone(2) has no flag for it: its number is one of the signal's (CSIGNAL). unshare(2) has; the process itself
    /// goes there by setns(2), as its only thread.
    void enterFirst(const FirstProcess& /*first*/) override {
        const int made = ::unshare(CLONE_NEWTIME);
        if (made < 0 && !needed_) {  // forbidden, used up, or unknown here
            log_.warn("No right to make a time namespace: monotonic clocks don't go on from where they were");
            return;
        }
        sys(made, "create a time namespace");
        const kernel::ProcPid self = kernel::ProcDir().self();
        // The new namespace begins with the offsets of the one that we are still in.
        const TimeOffsets before = kernel::readTimeOffsets(self);
        TimeOffsets after;
        after.monotonic = monotonic_ - (ClockTime::of(CLOCK_MONOTONIC) - before.monotonic);
        after.boottime = boottime_ - (ClockTime::of(CLOCK_BOOTTIME) - before.boottime);
        self.write("timens_offsets", kernel::formatTimeOffsets(after));
        const UniqueFd space = self.open("ns/time_for_children", O_RDONLY);
        sys(::setns(space.get(), CLONE_NEWTIME), "enter the time namespace of the tree");
    }

private:
    bool needed_;  ///< the tree had a time namespace for itself
    Log& log_;
    ClockTime monotonic_;
    ClockTime boottime_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeTimeRestore(const RestoreInputs& inputs) {
    const std::uint32_t own = KindNumbers::ofOne(inputs, NamespaceKind::Time).own;
    if (inputs.joined.has(NamespaceKind::Time))
        return makeJoinedRestore(inputs, NamespaceKind::Time);
    if (own != 0)
        kernel::Features().require(kernel::Feature::TimeNs);
    // Old images don't say what the clocks were in criu's own namespace.
    const bool known = own != 0 || inputs.images.exists(ImageKind::Timens, 0);
    if (!known || !kernel::Features().has(kernel::Feature::TimeNs))
        return nullptr;
    return std::make_unique<TimeRestore>(inputs.images, own, inputs.log);
}

}  // namespace criu::namespaces
