// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/clocks.hpp"

#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include <limits>

#include "criu/base/error.hpp"
#include "images/timens.hpp"

namespace criu::namespaces {
namespace {

using kernel::ClockTime;
using kernel::ProcDir;
using kernel::TimeOffsets;

Timespec toImage(const ClockTime& time) {
    Timespec out = TIMESPEC__INIT;
    out.tv_sec = static_cast<std::uint64_t>(time.seconds);
    out.tv_nsec = static_cast<std::uint64_t>(time.nanoseconds);
    return out;
}

ClockTime fromImage(const Timespec& time) {
    constexpr std::uint64_t kMostSeconds = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    if (time.tv_sec > kMostSeconds || time.tv_nsec >= kSecond)
        fail("the images hold a time of {} s and {} ns, which no clock can have", time.tv_sec, time.tv_nsec);
    return {static_cast<std::int64_t>(time.tv_sec), static_cast<std::int64_t>(time.tv_nsec)};
}

}  // namespace

void ClocksDump::write(const ImageDir& images, const kernel::ProcPid& root) const {
    ClockTime monotonic = ClockTime::of(CLOCK_MONOTONIC);
    ClockTime boottime = ClockTime::of(CLOCK_BOOTTIME);
    if (number_ != 0) {
        const TimeOffsets ours = kernel::readTimeOffsets(ProcDir().self());
        const TimeOffsets theirs = kernel::readTimeOffsets(root);
        monotonic = monotonic - ours.monotonic + theirs.monotonic;
        boottime = boottime - ours.boottime + theirs.boottime;
    }
    Timespec first = toImage(monotonic);
    Timespec second = toImage(boottime);
    TimensEntry entry = TIMENS_ENTRY__INIT;
    entry.monotonic = &first;
    entry.boottime = &second;
    ImageWriter image = images.create(ImageKind::Timens, number_);
    image.write(entry);
    image.finish();
}

ClocksRestore::ClocksRestore(const ImageDir& images, std::uint32_t number) : needed_(number != 0) {
    const auto entry = images.openRequired(ImageKind::Timens, number).only<TimensEntry>();
    monotonic_ = fromImage(*entry->monotonic);
    boottime_ = fromImage(*entry->boottime);
}

bool ClocksRestore::enterNew() const {
    const int made = ::unshare(CLONE_NEWTIME);
    if (made < 0 && !needed_)  // forbidden, used up, or unknown here
        return false;
    sys(made, "create a time namespace");
    const kernel::ProcPid self = ProcDir().self();
    // The new namespace begins with the offsets of the one that we are still in.
    const TimeOffsets before = kernel::readTimeOffsets(self);
    TimeOffsets after;
    after.monotonic = monotonic_ - (ClockTime::of(CLOCK_MONOTONIC) - before.monotonic);
    after.boottime = boottime_ - (ClockTime::of(CLOCK_BOOTTIME) - before.boottime);
    self.write("timens_offsets", kernel::formatTimeOffsets(after));
    const UniqueFd space = self.open("ns/time_for_children", O_RDONLY);
    sys(::setns(space.get(), CLONE_NEWTIME), "enter the time namespace of the tree");
    return true;
}

}  // namespace criu::namespaces
