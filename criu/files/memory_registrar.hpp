// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::files {

/// What a restored file is beside RestoredFile if the kernel has been given memory of a process for it (the buffers of
/// an io_uring), which can be done again only when that memory is in its place.
class MemoryRegistrar {
public:
    virtual ~MemoryRegistrar() = default;

    /// The description that the memory is registered with.
    [[nodiscard]] virtual FileId registrar() const = 0;

    /// Adds to the program of the process that has the file mapped, where `fd` is its number.
    virtual void addMemorySteps(int fd, pie::StepList& steps, pie::RemoteData& data) const = 0;
};

}  // namespace criu::files
