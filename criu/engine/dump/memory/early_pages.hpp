// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <memory>

#include "criu/base/ids.hpp"

namespace criu::memory {
struct EarlyDump;
}

namespace criu::engine {

class FrozenPhase;

/// Writes early pages: pages of processes while device drivers still save GPU state of other processes. That takes long
/// and uses few threads. Only private memory is read early; the dump of mappings, files and threads waits until the
/// drivers have finished.
///
/// Only large processes have early pages. A dump with --background, --lazy-pages or tracked memory has none. A process
/// also has none if the kernel (by a ring) or a device may still write to its memory.
class EarlyPages {
public:
    /// `frozen` must outlive this object.
    explicit EarlyPages(FrozenPhase& frozen);
    /// Stops the thread that writes early pages.
    ~EarlyPages();
    EarlyPages(const EarlyPages&) = delete;
    EarlyPages& operator=(const EarlyPages&) = delete;

    /// Starts to write the memory of a process, and returns at once; another thread writes. The memory must not change
    /// after the call.
    void begin(HostPid pid);
    /// Waits until the thread has written the current process, and ends the thread. The dump of memory writes the
    /// processes that are left. Throws the failure of the thread.
    void finish();

    /// Returns the processes whose pages were written early. Call it after finish().
    [[nodiscard]] const std::map<HostPid, memory::EarlyDump>& written() const noexcept;

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
