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
#include "criu/kernel/fd_store.hpp"
#include "criu/pie/program.hpp"

namespace criu::engine {

/// Points that all processes of a restore wait for, in this order. The log contains their names.
enum class Barrier : std::uint32_t {
    Born,       ///< every process of the tree exists
    Placed,     ///< every process is in its process group, and has its descriptors at their numbers
    Completed,  ///< no process needs another one; helpers and zombies may end
    Count,
};

/// Memory shared by the coordinator and all restored processes.
struct ControlPage {
    pie::Failure failure;
    std::uint32_t events = 0;  ///< futex: incremented when the coordinator has to check the page
    std::uint32_t arrived[static_cast<std::size_t>(Barrier::Count)] = {};
    std::uint32_t parked = 0;  ///< processes whose program has ended without an error
    std::uint64_t restoredPages = 0;
    std::uint64_t comparedPages = 0;
    std::uint64_t sharedPages = 0;
    /// Bytes to fill, as far as known, and bytes filled. They are for display only.
    std::atomic<std::uint64_t> wantedBytes{0};
    std::atomic<std::uint64_t> filledBytes{0};
    std::uint32_t reparenting = 0;  ///< futex: progress of reparenting, two steps for each subreaper turn
    std::uint32_t createdCount = 0;
    std::uint32_t areaCount = 0;
    std::uint32_t rootStarted = 0;  ///< 1 when the root has reached the gate
    std::uint32_t gate = 0;         ///< futex: 1 when the namespaces of the tree are ready
};

/// A process that this restore has created.
struct CreatedSlot {
    TreePid pid;
};

/// Address of the restorer in a parked process, for its removal: the interpreter first, the data of its programs last.
struct AreaSlot {
    TreePid pid;
    std::uint64_t start = 0;
    std::uint64_t data = 0;  ///< address of the programs' data
    std::uint64_t end = 0;
};

/// Owner of the control page. The coordinator has it, and by fork every restored process until its memory is replaced.
class RestoreControl {
public:
    explicit RestoreControl(std::uint32_t participants);

    [[nodiscard]] ControlPage& page() const noexcept { return *mapping_.as<ControlPage>(); }
    [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
    /// Returns the memfd of the page, so that it can be mapped at any address.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// Moves the descriptors to the service range.
    void inherit(kernel::FdStore& store);

    /// True if the coordinator, without which no process may continue, is alive.
    [[nodiscard]] bool coordinatorLives() const noexcept;

    /// Reports that the root has reached the gate, where it waits for its namespaces. The coordinator opens the gate
    /// when they are filled.
    void noteRootStarted() const noexcept;
    void awaitGate() const noexcept;
    void openGate() const noexcept;

    /// Waits in a restored process until all processes have reached the barrier. Ends the process if the coordinator is
    /// gone.
    void pass(Barrier barrier) const noexcept;

    /// Waits until reparenting has reached a step. continueReparenting() begins the next step.
    void awaitReparenting(std::size_t step) const noexcept;
    void continueReparenting() const noexcept;

    /// Records that a process exists. Its creator calls it.
    void noteCreated(TreePid pid) const noexcept;
    /// Waits in a restored process until `pid` is recorded. Ends the process if the coordinator is gone.
    void awaitCreated(TreePid pid) const noexcept;

    /// Records where a process has its restorer. The process calls it before it enters the restorer.
    void noteArea(const AreaSlot& area) const noexcept;

    /// Returns the processes recorded so far. The coordinator calls it.
    [[nodiscard]] std::vector<TreePid> created() const;
    /// Returns a copy of all recorded areas. The caller must check the values, because restored processes wrote them.
    [[nodiscard]] std::vector<AreaSlot> areas() const;

    /// Returns a watch that counts filled memory and adds it to the trace as `what`. Any process may call it.
    [[nodiscard]] memory::ReadWatch watchReading(const Log& log, std::string_view what = "read pages") const;

    /// Reports to the coordinator why the process `self` failed. `code`: the errno, or 0. Only the first report counts.
    void reportFailure(TreePid self, std::string_view text, int code) const noexcept;

    enum class Outcome { Reached, Failed, Idle };
    /// Waits in the coordinator until `parked` processes are parked or one has failed. Returns Idle after
    /// `milliseconds` without any event.
    [[nodiscard]] Outcome await(std::uint32_t parked, unsigned milliseconds) const noexcept;
    /// Waits like await(), but for the root to reach the gate.
    [[nodiscard]] Outcome awaitRootStarted(unsigned milliseconds) const noexcept;

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

    std::uint32_t participants_;  ///< all processes, with helpers and zombies
    UniqueFd fd_;
    UniqueFd coordinator_;  ///< pidfd of the coordinator; its pid differs in other pid namespaces
    Mapping mapping_;
};

}  // namespace criu::engine
