// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::files {

/// Interface of a restored file with which the kernel has registered memory of a process (the buffers of an io_uring).
/// The memory is registered again when it is mapped.
class MemoryRegistrar {
public:
    virtual ~MemoryRegistrar() = default;

    /// Returns the id of the description that the memory is registered with.
    [[nodiscard]] virtual FileId registrar() const = 0;

    /// Adds steps to the program of the process that maps the file; `fd` is the file's descriptor there.
    virtual void addMemorySteps(int fd, pie::StepList& steps, pie::RemoteData& data) const = 0;
};

}  // namespace criu::files
