// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <linux/io_uring.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::files {

/// Ring with a kernel thread (IORING_SETUP_SQPOLL). RestoredFile::open() creates a placeholder. The process creates the
/// ring when it has its credentials, because the kernel thread keeps the credentials of this moment. All threads of the
/// tree must exist then, because the kernel thread takes a free tid.
class PolledRing {
public:
    virtual ~PolledRing() = default;

    [[nodiscard]] virtual FileId id() const = 0;
    /// Returns the ring that shares its kernel thread with this ring; id() if the thread belongs to this ring.
    [[nodiscard]] virtual FileId threadOwner() const = 0;

    /// Returns the arguments of io_uring_setup(2), without IORING_SETUP_ATTACH_WQ.
    [[nodiscard]] virtual std::uint32_t entries() const = 0;
    [[nodiscard]] virtual io_uring_params parameters() const = 0;
    /// Gives a new ring the dumped counters, completions and flags of open(2). `ring`: criu's copy of its descriptor.
    /// `made`: result of io_uring_setup(2). Throws Error.
    virtual void fill(int ring, const io_uring_params& made) const = 0;

    /// Returns the registered files, one element for each slot; FileId() for an empty slot.
    [[nodiscard]] virtual std::vector<FileId> registeredFiles() const = 0;
    [[nodiscard]] virtual std::optional<FileId> eventFd() const = 0;
    /// Adds steps that register buffers. They run in the process that maps the ring. `fd`: descriptor of the ring
    /// there.
    virtual void addBufferSteps(int fd, pie::StepList& steps, pie::RemoteData& data) const = 0;
};

}  // namespace criu::files
