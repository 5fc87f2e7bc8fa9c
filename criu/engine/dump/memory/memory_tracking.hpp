// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::crypto {
class SecretBytes;
}

namespace criu::kernel {
struct Vma;
}

namespace criu::memory {
class WriteTracking;
}

namespace criu::engine {

struct FrozenTask;
class WpTrackerLink;

/// What a dump knows of writes to the memory of its tree since the dump before, and what it leaves for the one after.
///
/// The kernel tracks writes by userfaultfds of the processes' memory, which a keeper holds between dumps. Its state has
/// an id, which is also in the inventory of the dump that made it. Only a dump whose parent has that id may rely on it.
class MemoryTracking {
public:
    /// What is to become of it.
    enum class Use {
        Ignored,    ///< pages are dumped whole; tracked memory is told apart from that of others
        ForDump,    ///< the dump relies on it
        Continued,  ///< the dump relies on it, and leaves a new state for the one after it
    };

    /// `link` may be none: nothing is tracked then. `images` have their parent, if there is one. Throws Error.
    MemoryTracking(std::optional<WpTrackerLink> link, Use use, const ImageDir& images, Log& log);
    ~MemoryTracking();
    MemoryTracking(const MemoryTracking&) = delete;
    MemoryTracking& operator=(const MemoryTracking&) = delete;

    /// What is known of a process, null if nothing is. Mappings of its that are tracked lose the mark of memory that is
    /// registered with a userfaultfd. If tracking is continued, the process begins to be tracked: by a system call of
    /// its own, which seccomp lets pass if it is suspended. To be called once for each process. Throws Error.
    memory::WriteTracking* add(FrozenTask& task, std::span<kernel::Vma> vmas, bool seccompSuspended);

    /// What is known of a process since the parent of the images, and which of its mappings are tracked, by maps alone.
    struct Known {
        memory::WriteTracking* writes;
        std::vector<kernel::Vma> tracked;
    };
    /// Nothing if the process is no longer, or wasn't, tracked: add() says more, and may be called afterwards. Throws
    /// Error.
    [[nodiscard]] std::optional<Known> find(FrozenTask& task, std::span<const kernel::Vma> maps);

    /// Processes that are tracked already.
    [[nodiscard]] std::vector<HostPid> processes() const;

    /// Whether the parent of the images has the state that is tracked, so that clean pages are in it.
    [[nodiscard]] bool parentIsKnown() const noexcept;
    [[nodiscard]] bool continues() const noexcept;
    /// Whether anything is, or was, tracked of the tree.
    [[nodiscard]] bool used() const noexcept;

    /// When this object was made, in microseconds since the machine was started.
    [[nodiscard]] std::uint64_t uptime() const noexcept;

    /// Before the first WriteTracking::restart(). Throws Error.
    void begin();
    /// The id of the state that commit() leaves; empty if there won't be one.
    [[nodiscard]] std::string nextId() const;
    /// The images are complete. `key`: for the next dump to read them, if they are encrypted. Throws Error.
    void commit(std::shared_ptr<crypto::SecretBytes> key);
    /// The tree goes on, and no dump will come that relies on this one: nothing is tracked any more.
    void finish();

private:
    struct State;

    std::unique_ptr<State> state_;
};

}  // namespace criu::engine
