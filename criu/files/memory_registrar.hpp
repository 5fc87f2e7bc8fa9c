// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::files {

/// Restored file with which a process has registered memory, such as buffers of an io_uring. criu registers the memory
/// again after it is mapped.
class MemoryRegistrar {
public:
    virtual ~MemoryRegistrar() = default;

    /// Returns the file id of the open file description with which the memory is registered.
    [[nodiscard]] virtual FileId registrar() const = 0;

    /// Adds steps that register the memory, to the program of the process that maps the file. `fd`: descriptor of the
    /// file in this process.
    virtual void addMemorySteps(int fd, pie::StepList& steps, pie::RemoteData& data) const = 0;
};

}  // namespace criu::files
