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

/// Single-steps each thread that is in vDSO code until the thread has left this code, usually some dozen instructions.
/// A thread that was dumped inside vDSO code couldn't continue under a kernel with a different vDSO
/// (memory/vdso/vdso_proxy.hpp).
///
/// If a thread doesn't leave the vDSO, criu can restore it only under the same kernel. Throws compel::Error if a thread
/// ends or doesn't stop again.
void stepOutOfVdso(FrozenTask& task, std::span<const kernel::Vma> vmas, Log& log);

}  // namespace criu::engine
