// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::task {

/// Queries a thread for rings of io_uring that it uses without a descriptor (IORING_REGISTER_RING_FDS). They belong to
/// the thread, /proc doesn't show them, and the kernel doesn't show which rings they are.
class RegisteredRingsQuery {
public:
    /// `any`: true if the process has rings. Otherwise no steps are added.
    RegisteredRingsQuery(bool any, pie::StepList& steps, pie::RemoteData& data);

    /// Memory that the steps need.
    static constexpr std::size_t kRoom = 16 * (2 * sizeof(pie::Step) + 16);

    /// Called after the run: throws Error if the thread has such rings.
    void refuse(pie::RemoteData& answers, HostPid tid) const;

private:
    std::uint64_t resultsAt_ = 0;
};

}  // namespace criu::task
