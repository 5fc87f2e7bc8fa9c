// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/engine/restore/task/drop_privileges.hpp"

namespace criu::engine {

/// Sets the dumped registers, processor state and signal masks of all threads of a seized process. A main thread that
/// has ended in the images gets registers with which it ends. `restorer`: address of the restorer's code, if the
/// process still has it. Throws Error, also if the process has other threads than the images.
void setRegisters(compel::FrozenProcess& process, const PrivilegeDrop::Threads& threads, const model::Task& task,
                  std::optional<std::uint64_t> restorer);

}  // namespace criu::engine
