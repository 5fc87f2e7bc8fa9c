// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/commit_word.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/pie/program.hpp"

namespace criu::engine {

/// Barriers that all processes of a restore wait for, in this order. The log contains the names of barriers.
enum class Barrier : std::uint32_t {
    Born,       ///< every process of the tree exists
    Placed,     ///< every process is in its process group and has its descriptors at their numbers
    Completed,  ///< no process needs another process any more; helpers and zombies may end
    Count,
};

/// Control page: memory that the coordinator and all restored processes share.
struct ControlPage {
    pie::Failure failure;
    std::uint32_t events = 0;  ///< futex that a process increments when the coordinator has to check the page
    std::uint32_t arrived[static_cast<std::size_t>(Barrier::Count)] = {};
    std::uint32_t parked = 0;  ///< number of processes that are parked
    std::uint64_t restoredPages = 0;
    std::uint64_t comparedPages = 0;
    std::uint64_t sharedPages = 0;
    /// Number of bytes of memory to fill, as far as known. `filledBytes` is the number that is filled. Both serve only
    /// the display of progress.
    std::atomic<std::uint64_t> wantedBytes{0};
    std::atomic<std::uint64_t> filledBytes{0};
    /// Futex with the number of finished reparenting steps; each subreaper turn has two steps.
    std::uint32_t reparenting = 0;
    std::uint32_t createdCount = 0;
    std::uint32_t areaCount = 0;
    std::uint32_t rootStarted = 0;  ///< 1 if the root has reached the gate
    std::uint32_t gate = 0;         ///< futex; 1 if the namespaces of the tree are ready
    std::uint32_t mountsMade = 0;   ///< 1 if the root has created the mounts of the tree
    std::uint32_t mountsSeen = 0;   ///< futex; 1 if all listeners have been notified of the mounts
};

/// Process that this restore has created.
struct CreatedSlot {
    TreePid pid;
};

/// Addresses of the restorer in a parked process. The coordinator needs them to remove the restorer. The interpreter is
/// at `start`.
struct AreaSlot {
    TreePid pid;
    std::uint64_t start = 0;
    std::uint64_t data = 0;  ///< address of the data of the restorer's programs
    std::uint64_t end = 0;
};

/// Access to the control page. Restored processes inherit this object from the coordinator by fork, and use it until
/// they unmap criu's memory.
class RestoreControl {
public:
    explicit RestoreControl(std::uint32_t participants);

    [[nodiscard]] ControlPage& page() const noexcept { return *mapping_.as<ControlPage>(); }
    [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
    /// Returns the memfd of the control page. A process can map the page at any address by this descriptor.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] CommitWord& commitWord() noexcept { return word_; }
    /// Moves the descriptors to the service range.
    void inherit(kernel::FdStore& store);

    /// Returns true if the coordinator hasn't ended. Restored processes must end with the coordinator.
    [[nodiscard]] bool coordinatorLives() const noexcept;

    /// Reports that the root has reached the gate and waits there. The coordinator opens the gate when it has filled
    /// the root's namespaces.
    void noteRootStarted() const noexcept;
    void awaitGate() const noexcept;
    void openGate() const noexcept;

    /// Reports that the root has created the mounts of the tree, and waits until the coordinator has notified all
    /// listeners of them.
    void noteMountsMade() const noexcept;
    /// Ends the wait of noteMountsMade(). The coordinator calls it.
    void noteMountsSeen() const noexcept;

    /// Waits in a restored process until all processes have reached the barrier. Ends the process if the coordinator
    /// has ended.
    void pass(Barrier barrier) const noexcept;

    /// Waits until `step` reparenting steps are finished. A process finishes a step by continueReparenting().
    void awaitReparenting(std::size_t step) const noexcept;
    void continueReparenting() const noexcept;

    /// Records that a process exists. Its creator calls it.
    void noteCreated(TreePid pid) const noexcept;
    /// Waits in a restored process until `pid` is recorded. Ends the process if the coordinator has ended.
    void awaitCreated(TreePid pid) const noexcept;

    /// Records the addresses of a process' restorer. The process itself calls this before it enters the restorer.
    void noteArea(const AreaSlot& area) const noexcept;

    /// Returns the processes recorded so far. The coordinator calls it.
    [[nodiscard]] std::vector<TreePid> created() const;
    /// Returns a copy of all recorded areas. The caller must check the values, because restored processes wrote them.
    [[nodiscard]] std::vector<AreaSlot> areas() const;

    /// Returns an object that counts filled memory and adds the reads to the trace under the name `what`. Any process
    /// may call this.
    [[nodiscard]] memory::ReadWatch watchReading(const Log& log, std::string_view what = "read pages") const;

    /// Reports to the coordinator why the process `self` failed. `code`: the errno, or 0. Only the first report counts.
    void reportFailure(TreePid self, std::string_view text, int code) const noexcept;

    enum class Outcome { Reached, Failed, Idle };
    /// Waits in the coordinator until `parked` processes are parked, or until a process has failed. Returns Idle after
    /// `milliseconds` without an event.
    [[nodiscard]] Outcome await(std::uint32_t parked, unsigned milliseconds) const noexcept;
    /// Waits in the coordinator until the root has reached the gate, or until a process has failed. Returns Idle after
    /// `milliseconds` without an event.
    [[nodiscard]] Outcome awaitRootStarted(unsigned milliseconds) const noexcept;
    /// Does the same for noteMountsMade().
    [[nodiscard]] Outcome awaitMountsMade(unsigned milliseconds) const noexcept;

    /// Returns the failure as text. The coordinator calls it.
    [[nodiscard]] std::string failureText() const;
    /// Returns the errno of the failure; 0 if it has none.
    [[nodiscard]] int failureCode() const;

private:
    [[nodiscard]] AreaSlot* areaSlots() const noexcept;
    [[nodiscard]] CreatedSlot* createdSlots() const noexcept;

    [[nodiscard]] pie::Failure failure() const;

    [[nodiscard]] Outcome awaitWord(const std::uint32_t& word, std::uint32_t wanted,
                                    unsigned milliseconds) const noexcept;
    void sleepOn(std::uint32_t& word, std::uint32_t seen) const noexcept;

    std::uint32_t participants_;  ///< number of all processes, including helpers and zombies
    UniqueFd fd_;
    UniqueFd coordinator_;  ///< pidfd of the coordinator, because its pid differs in other pid namespaces
    Mapping mapping_;
    CommitWord word_;
};

}  // namespace criu::engine
