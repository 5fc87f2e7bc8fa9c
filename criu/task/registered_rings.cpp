// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/registered_rings.hpp"

#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "criu/base/error.hpp"

namespace criu::task {
namespace {

constexpr std::uint64_t kPlaces = 16;   // IO_RINGFD_REG_MAX
constexpr unsigned kByPlace = 1U << 4;  // IORING_ENTER_REGISTERED_RING (5.18)

}  // namespace

RegisteredRingsQuery::RegisteredRingsQuery(bool any, pie::StepList& steps, pie::RemoteData& data) {
    if (!any)
        return;
    resultsAt_ = data.reserve(kPlaces * sizeof(std::uint64_t));
    for (std::uint64_t place = 0; place < kPlaces; ++place) {
        // The call submits nothing and doesn't wait. It fails only if no ring has this index.
        steps.call(pie::Subject::Query, place, SYS_io_uring_enter, place, 0, 0, kByPlace, 0, 0).check =
            pie::ResultCheck::Any;
        steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, resultsAt_ + place * sizeof(std::uint64_t)).check =
            pie::ResultCheck::Any;
    }
}

void RegisteredRingsQuery::refuse(pie::RemoteData& answers, HostPid tid) const {
    for (std::uint64_t place = 0; resultsAt_ != 0 && place < kPlaces; ++place)
        if (answers.local<std::int64_t>(resultsAt_ + place * sizeof(std::uint64_t)) >= 0)
            fail(
                "thread {} has registered an io_uring for use without a descriptor (IORING_REGISTER_RING_FDS), which "
                "can't be dumped",
                tid);
}

}  // namespace criu::task
