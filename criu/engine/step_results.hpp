// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "criu/pie/program_builder.hpp"

namespace criu::engine {

/// Throws Error naming the step if the program at `program` in `data`, read back after its run, didn't come to its end.
void requireComplete(pie::RemoteData& data, std::uint64_t program, pid_t tid);

}  // namespace criu::engine
