// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/standby.hpp>

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "compel/test/blob/test_blob.hpp"
#include "compel_test_blob.hpp"

/// Work of a tracer in a stopped process, for tests that kill the tracer.
namespace compel::test {

/// Makes all changes to a process that the library can make, in all threads at the same time, and detaches it.
void workOn(FrozenProcess& process);
void workOn(pid_t pid);

/// Injects the test blob, with memory for standBy().
[[nodiscard]] Injection injectForStandby(FrozenProcess& process);
/// Returns the number of bytes of this memory for each thread.
[[nodiscard]] std::uint64_t standbySlot();
/// Puts all threads of a process in stand-by. In stand-by, each thread waits until its argument, which is in its slot
/// of the memory, isn't 0. `first`: value of all arguments.
std::vector<Standby> standBy(FrozenProcess& process, Injection& injection, std::uint64_t first);

}  // namespace compel::test
