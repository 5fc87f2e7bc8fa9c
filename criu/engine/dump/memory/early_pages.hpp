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

/// Writes pages of processes while device drivers still save GPU state of other processes, which takes long and uses
/// few threads. Reads only private memory early. The dump of mappings, files and threads waits until the drivers have
/// finished.
///
/// Only large processes have early pages. A dump with --background, --lazy-pages or tracked memory has none. A process
/// to whose memory the kernel (by a ring) or a device may still write has no early pages.
class EarlyPages {
public:
    /// `frozen` must outlive this object.
    explicit EarlyPages(FrozenPhase& frozen);
    /// Stops the thread that writes pages.
    ~EarlyPages();
    EarlyPages(const EarlyPages&) = delete;
    EarlyPages& operator=(const EarlyPages&) = delete;

    /// Starts to write the memory of a process, which must not change after the call. Another thread writes; the call
    /// returns at once.
    void begin(HostPid pid);
    /// Waits until the current process is written, and ends the thread. The dump of memory writes the remaining
    /// processes. Throws the failure of the thread.
    void finish();

    /// Returns the processes whose pages were written early. Call it after finish().
    [[nodiscard]] const std::map<HostPid, memory::EarlyDump>& written() const noexcept;

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
