// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>

namespace criu {
class Log;
}

namespace criu::kernel {
struct Vma;
}

namespace criu::engine {

struct FrozenTask;

/// Makes each thread that is in vDSO code run until it has left that code, usually some dozen instructions. Under a
/// kernel with another vDSO it couldn't continue there: its next instructions would be replaced, and the kernel's data
/// for them would be absent (memory/vdso/vdso_proxy.hpp).
///
/// A thread that can't be moved stays there; a restore under the same kernel works. Throws compel::Error if a thread
/// ends or doesn't stop again.
void stepOutOfVdso(FrozenTask& task, std::span<const kernel::Vma> vmas, Log& log);

}  // namespace criu::engine
