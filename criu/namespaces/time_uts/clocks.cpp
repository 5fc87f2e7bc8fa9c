// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/time_uts/clocks.hpp"

#include <time.h>

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

}  // namespace

void ClocksDump::write(const ImageDir& images, const std::optional<TimeOffsets>& offsets) const {
    ClockTime monotonic = ClockTime::of(CLOCK_MONOTONIC);
    ClockTime boottime = ClockTime::of(CLOCK_BOOTTIME);
    if (offsets) {
        const TimeOffsets ours = kernel::readTimeOffsets(ProcDir().self());
        monotonic = monotonic - ours.monotonic + offsets->monotonic;
        boottime = boottime - ours.boottime + offsets->boottime;
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

}  // namespace criu::namespaces
