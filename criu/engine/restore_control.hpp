// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/pie/program.hpp"

namespace criu::engine {

/// What all processes of a restore wait for together, in this order. Their names stand in the log.
enum class Barrier : std::uint32_t {
    Born,     ///< every process of the tree exists
    Grouped,  ///< everybody is in its process group; helpers and dead processes may end
    Filed,    ///< descriptors of all processes are in place
    Count,
};

/// Memory shared by the master and all processes it restores.
struct ControlPage {
    pie::Failure failure;
    std::uint32_t events = 0;  ///< futex: changes whenever the master should look
    std::uint32_t failed = 0;
    std::uint32_t arrived[static_cast<std::size_t>(Barrier::Count)] = {};
    std::uint32_t participants = 0;  ///< processes, helpers and dead ones included
    std::uint32_t parked = 0;        ///< processes whose program has ended well
    std::uint64_t restoredPages = 0;
    std::uint64_t comparedPages = 0;
    std::uint64_t sharedPages = 0;
    std::uint32_t createdCount = 0;
    std::int32_t created[];  ///< pids of processes that exist because of this restore
};

/// Owner of the page; lives in the master and, by fork, in every restored process until its memory is exchanged.
class RestoreControl {
public:
    explicit RestoreControl(std::uint32_t participants);

    [[nodiscard]] ControlPage& page() const noexcept { return *mapping_.as<ControlPage>(); }
    [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
    /// The same memory as a file, so that it can be mapped anywhere.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    void adoptFd(UniqueFd fd) noexcept { fd_ = std::move(fd); }
    [[nodiscard]] UniqueFd& descriptor() noexcept { return fd_; }

    /// Waits in a restored process until all have come here.
    void pass(Barrier barrier) const noexcept;

    /// Notes that a process now exists; from its creator.
    void noteCreated(pid_t pid) const noexcept;

    /// Tells the master why this process can't go on; the first to do so is heard.
    void reportFailure(std::string_view text) const noexcept;

    enum class Outcome { Parked, Failed, Idle };
    /// Master: waits until `parked` processes have arrived or one has failed; Idle after `milliseconds` without either.
    [[nodiscard]] Outcome await(std::uint32_t parked, unsigned milliseconds) const noexcept;

    /// Master: the failure as text.
    [[nodiscard]] std::string failureText() const;

private:
    UniqueFd fd_;
    Mapping mapping_;
};

}  // namespace criu::engine
