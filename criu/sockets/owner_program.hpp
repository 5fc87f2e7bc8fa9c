// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "criu/base/ids.hpp"

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::sockets {

/// Makes a process of the tree execute a program of the interpreter. If criu is killed, the process executes the
/// program to its end, and continues. Exceptions are threads with a shadow stack, and seccomp filters that forbid the
/// program's system calls (compel::BlobRun); the queries of a dump have the same exceptions. `room`: maximum number of
/// bytes of the program and its data. `compose` adds the steps; `read` gets the data and the address of the first step
/// after the run. Returns false if criu may not run code in the process. Throws Error.
using OwnerProgram = std::function<bool(HostPid process, std::size_t room,
                                        const std::function<void(pie::StepList& steps, pie::RemoteData& data)>& compose,
                                        const std::function<void(pie::RemoteData& data, std::uint64_t steps)>& read)>;

}  // namespace criu::sockets
