// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include "criu/kernel/proc/pidfd.hpp"

namespace criu::service {

/// Limits of the service, which hold for processes that serve clients. Each such process has criu's privileges.
inline constexpr std::size_t kClientsOfUser = 16;   ///< clients of one user other than criu's
inline constexpr std::size_t kClientsOfUsers = 64;  ///< clients of all users other than criu's
inline constexpr std::size_t kClientsInAll = 512;

/// Table of the processes that serve clients.
class ServedClients {
public:
    /// `owner`: user of criu, to whom only kClientsInAll applies.
    explicit ServedClients(uid_t owner) noexcept : owner_(owner) {}

    /// Returns true if the limits allow another client of a user.
    [[nodiscard]] bool mayServe(uid_t user) const noexcept;
    /// Adds a child process that serves a client of a user.
    void add(kernel::PidFd process, uid_t user) { all_.push_back({std::move(process), user}); }
    /// Appends the pidfds of all processes to the descriptors of a poll(2).
    void appendTo(std::vector<pollfd>& waiting) const;
    /// Reaps ended processes, and removes them from the table.
    void reapEnded();
    /// Closes all pidfds, in a child that serves a client.
    void clear() noexcept { all_.clear(); }

private:
    struct Served {
        kernel::PidFd process;
        uid_t user;
    };

    uid_t owner_;
    std::vector<Served> all_;
};

/// Budget of log lines about other users' clients. Without it, a user could fill the disk with the log of the service.
class LogBudget {
public:
    using Clock = std::chrono::steady_clock;

    enum class Answer {
        Log,        ///< a client may write to the log of the service
        LastWords,  ///< the budget is used up with this client, and the service logs that
        Silence,
    };

    /// Counts one client.
    Answer take(Clock::time_point now = Clock::now()) noexcept;

private:
    static constexpr unsigned kClients = 20;
    static constexpr std::chrono::minutes kPeriod{1};

    Clock::time_point begin_{};
    unsigned used_ = 0;
};

}  // namespace criu::service
