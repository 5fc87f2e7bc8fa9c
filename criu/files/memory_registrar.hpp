// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::files {

/// Restored file with the kernel's record of process memory, such as the registered buffers of an io_uring. criu
/// registers the memory again when the memory is mapped.
class MemoryRegistrar {
public:
    virtual ~MemoryRegistrar() = default;

    /// Returns the id of the open file description with which the memory is registered.
    [[nodiscard]] virtual FileId registrar() const = 0;

    /// Adds steps that register the memory. They run in the process that maps the file. `fd`: descriptor of the file in
    /// this process.
    virtual void addMemorySteps(int fd, pie::StepList& steps, pie::RemoteData& data) const = 0;
};

}  // namespace criu::files
