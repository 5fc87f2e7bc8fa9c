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

/// Writes pages of processes while device drivers still save GPU state of other processes, which takes long and keeps
/// few threads busy. Only contents of private memory are read early. Mappings, files and threads are dumped when
/// drivers have finished, because files may be shared between processes.
///
/// Only large processes have early pages. There are none with --background, --lazy-pages or tracked memory, since these
/// need more than the mappings first. There are none for processes to whose memory the kernel (rings) or a device
/// (queues of another driver) may still write. Their files are dumped and their devices stopped before their memory is
/// read.
class EarlyPages {
public:
    /// Only stores `frozen`, which outlives this object.
    explicit EarlyPages(FrozenPhase& frozen);
    /// Gives up unfinished processes.
    ~EarlyPages();
    EarlyPages(const EarlyPages&) = delete;
    EarlyPages& operator=(const EarlyPages&) = delete;

    /// Starts to write the memory of a process, which doesn't change from now on. Returns at once; another thread
    /// writes.
    void begin(HostPid pid);
    /// Waits for the process that is being written; later ones are left to the dump of memory. No thread remains when
    /// this returns. Throws the failure of the thread.
    void finish();

    /// Returns the processes that were written. Call it after finish().
    [[nodiscard]] const std::map<HostPid, memory::EarlyDump>& written() const noexcept;

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
