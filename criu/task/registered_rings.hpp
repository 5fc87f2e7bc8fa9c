// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::task {

/// Query of a thread for io_uring rings that it uses without a descriptor (IORING_REGISTER_RING_FDS). Such a ring
/// belongs to one thread. The kernel doesn't show which ring it is, so criu can't dump it.
class RegisteredRingsQuery {
public:
    /// Adds no steps if `any` is false, which means that the process has no rings.
    RegisteredRingsQuery(bool any, pie::StepList& steps, pie::RemoteData& data);

    /// Size of the memory that the steps need, in bytes.
    static constexpr std::size_t kRoom = 16 * (2 * sizeof(pie::Step) + 16);

    /// Throws Error if the thread has such rings. Called after the steps have run.
    void refuse(pie::RemoteData& answers, HostPid tid) const;

private:
    std::uint64_t resultsAt_ = 0;
};

}  // namespace criu::task
