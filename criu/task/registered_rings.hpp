// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::task {

/// Asks a thread for rings of io_uring that it has registered for use without a descriptor (IORING_REGISTER_RING_FDS).
/// They are its own, no file of /proc shows them, and whose they are can't be read out.
class RegisteredRingsQuery {
public:
    /// `any`: whether the process has rings at all; else nothing is asked.
    RegisteredRingsQuery(bool any, pie::StepList& steps, pie::RemoteData& data);

    /// Memory the steps need.
    static constexpr std::size_t kRoom = 16 * (2 * sizeof(pie::Step) + 16);

    /// After the run: throws Error if there are some.
    void refuse(pie::RemoteData& answers, HostPid tid) const;

private:
    std::uint64_t resultsAt_ = 0;
};

}  // namespace criu::task
