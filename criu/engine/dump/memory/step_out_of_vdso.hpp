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

/// Has each thread of a stopped process that is in the midst of the vDSO's code run on until it has left that, which
/// takes it some dozen instructions. Under a kernel with another vDSO it couldn't go on there: what it is about to
/// execute is replaced, and the kernel's data that it was about to read aren't there (memory/vdso/vdso_proxy.hpp).
///
/// A thread for which that can't be done is left where it is; a restore under the same kernel doesn't care. Throws
/// compel::Error if a thread ends or doesn't stop again.
void stepOutOfVdso(FrozenTask& task, std::span<const kernel::Vma> vmas, Log& log);

}  // namespace criu::engine
