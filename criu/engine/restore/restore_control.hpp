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
#include "criu/kernel/fd_store.hpp"
#include "criu/pie/program.hpp"

namespace criu {
class Log;
}

namespace criu::memory {
struct ReadWatch;
}

namespace criu::engine {

/// What all processes of a restore wait for together, in this order. Their names stand in the log.
enum class Barrier : std::uint32_t {
    Born,       ///< every process of the tree exists
    Placed,     ///< everybody is in its process group, and has its descriptors at their numbers
    Completed,  ///< nobody needs another any more; helpers and dead processes may end
    Count,
};

/// Memory shared by the master and all processes it restores.
struct ControlPage {
    pie::Failure failure;
    std::uint32_t events = 0;  ///< futex: changes whenever the master should look
    std::uint32_t arrived[static_cast<std::size_t>(Barrier::Count)] = {};
    std::uint32_t parked = 0;  ///< processes whose program has ended well
    std::uint64_t restoredPages = 0;
    std::uint64_t comparedPages = 0;
    std::uint64_t sharedPages = 0;
    /// For who watches: memory that is to be filled as far as known, and that is.
    std::atomic<std::uint64_t> wantedBytes{0};
    std::atomic<std::uint64_t> filledBytes{0};
    std::uint32_t reparenting = 0;  ///< futex: how far adoptions are, two steps for each adopter's turn
    std::uint32_t createdCount = 0;
    std::uint32_t areaCount = 0;
    std::uint32_t rootStarted = 0;  ///< 1 when the root has come to the gate
    std::uint32_t gate = 0;         ///< futex: 1 when the namespaces of the tree are ready
};

/// A process that exists because of this restore.
struct CreatedSlot {
    TreePid pid;
};

/// Where a parked process has the restorer, which is to be taken away: the interpreter first, what it needs for its
/// programs last.
struct AreaSlot {
    TreePid pid;
    std::uint64_t start = 0;
    std::uint64_t data = 0;  ///< where that memory begins
    std::uint64_t end = 0;
};

/// Owner of the page; lives in the master and, by fork, in every restored process until its memory is exchanged.
class RestoreControl {
public:
    explicit RestoreControl(std::uint32_t participants);

    [[nodiscard]] ControlPage& page() const noexcept { return *mapping_.as<ControlPage>(); }
    [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
    /// The same memory as a file, so that it can be mapped anywhere.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// Moves descriptors out of the way.
    void inherit(kernel::FdStore& store);

    /// Whether the master, without which nobody may go on, is still there.
    [[nodiscard]] bool masterLives() const noexcept;

    /// The root says that it has come to the gate. There it waits for its namespaces; the master says that they are
    /// ready.
    void noteRootStarted() const noexcept;
    void awaitGate() const noexcept;
    void openGate() const noexcept;

    /// Waits in a restored process until all have come here. Ends the process if the master is gone.
    void pass(Barrier barrier) const noexcept;

    /// Waits until adoptions have come to a step; goes on to the next one.
    void awaitReparenting(std::size_t step) const noexcept;
    void continueReparenting() const noexcept;

    /// Notes that a process now exists; from its creator.
    void noteCreated(TreePid pid) const noexcept;
    /// Waits in a restored process until that has been noted. Ends the process if the master is gone.
    void awaitCreated(TreePid pid) const noexcept;

    /// Notes where a process keeps the restorer; from itself, before it enters it.
    void noteArea(const AreaSlot& area) const noexcept;

    /// Master: processes noted so far.
    [[nodiscard]] std::vector<TreePid> created() const;
    /// A copy: processes may still change what is in shared memory. Nothing of it has been checked.
    [[nodiscard]] std::vector<AreaSlot> areas() const;

    /// In whatever process: counts the memory that is filled, and has it in the trace, where the work is called `what`.
    [[nodiscard]] memory::ReadWatch watchReading(const Log& log, std::string_view what = "read pages") const;

    /// Tells the master why this process, `self`, can't go on, with the errno if there is one; the first to do so is
    /// heard.
    void reportFailure(TreePid self, std::string_view text, int code) const noexcept;

    enum class Outcome { Reached, Failed, Idle };
    /// Master: waits until `parked` processes have arrived or one has failed; Idle after `milliseconds` without either.
    [[nodiscard]] Outcome await(std::uint32_t parked, unsigned milliseconds) const noexcept;
    /// Master: the same for the root, which comes to the gate.
    [[nodiscard]] Outcome awaitRootStarted(unsigned milliseconds) const noexcept;

    /// Master: the failure as text.
    [[nodiscard]] std::string failureText() const;
    /// And its errno, 0 if it has none.
    [[nodiscard]] int failureCode() const;

private:
    [[nodiscard]] AreaSlot* areaSlots() const noexcept;
    [[nodiscard]] CreatedSlot* createdSlots() const noexcept;

    [[nodiscard]] pie::Failure failure() const;

    [[nodiscard]] Outcome awaitWord(const std::uint32_t& word, std::uint32_t wanted,
                                    unsigned milliseconds) const noexcept;
    void sleepOn(std::uint32_t& word, std::uint32_t seen) const noexcept;

    std::uint32_t participants_;  ///< processes, helpers and dead ones included
    UniqueFd fd_;
    UniqueFd master_;  ///< pidfd: its number means nothing in another pid namespace
    Mapping mapping_;
};

}  // namespace criu::engine
