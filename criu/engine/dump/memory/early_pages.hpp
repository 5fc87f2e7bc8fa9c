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

/// Pages of processes that are written while drivers still copy out what devices hold of others: what these take
/// anyhow is long, by few threads. Nothing but the content of private memory is looked at; mappings, files and threads
/// are dumped when drivers have done with everybody, since files may be anybody's.
///
/// Writing begins with processes of some size only. It doesn't where more has to be known first than what a process has
/// mapped (--background, --lazy-pages, tracked memory), nor for processes to whose memory the kernel (rings) or a
/// device (queues of another driver) may still write: their files are looked at, and what they have is stopped, before
/// their memory is read.
class EarlyPages {
public:
    /// Does nothing yet. `frozen` outlives this object.
    explicit EarlyPages(FrozenPhase& frozen);
    /// Gives up what isn't finished.
    ~EarlyPages();
    EarlyPages(const EarlyPages&) = delete;
    EarlyPages& operator=(const EarlyPages&) = delete;

    /// A process whose memory stays as it is from now on. Returns at once: another thread writes it.
    void begin(HostPid pid);
    /// Waits for the process that is being written; others are left to the dump of memory. No thread is left when this
    /// returns. Throws what went wrong.
    void finish();

    /// After finish(): what was written.
    [[nodiscard]] const std::map<HostPid, memory::EarlyDump>& written() const noexcept;

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
