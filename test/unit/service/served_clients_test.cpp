// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/served_clients.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <csignal>

using namespace criu;
using namespace criu::service;
using namespace std::chrono_literals;

namespace {

constexpr uid_t kOwner = 7;

/// Creates children that wait for a signal, and ends them.
struct Children {
    ~Children() {
        for (const pid_t child : pids)
            ::kill(child, SIGKILL);
    }
    kernel::PidFd make() {
        const pid_t child = ::fork();
        if (child == 0)
            for (;;)
                ::pause();
        pids.push_back(child);
        return kernel::PidFd(child);
    }

    std::vector<pid_t> pids;
};

}  // namespace

TEST_CASE("the service limits clients of each user and of all users", "[service]") {
    ServedClients clients(kOwner);
    Children children;
    for (std::size_t count = 0; count < kClientsOfUser; ++count) {
        REQUIRE(clients.mayServe(1));
        clients.add(children.make(), 1);
    }
    CHECK_FALSE(clients.mayServe(1));
    CHECK(clients.mayServe(2));
    CHECK(clients.mayServe(kOwner));
    for (std::size_t count = kClientsOfUser; count < kClientsOfUsers; ++count)
        clients.add(children.make(), static_cast<uid_t>(100 + count));
    CHECK_FALSE(clients.mayServe(2));
    CHECK(clients.mayServe(kOwner));

    std::vector<pollfd> waiting;
    clients.appendTo(waiting);
    CHECK(waiting.size() == kClientsOfUsers);
    for (const pid_t child : children.pids)
        REQUIRE(::kill(child, SIGKILL) == 0);
    for (const pollfd& one : waiting) {
        pollfd ended = one;
        REQUIRE(::poll(&ended, 1, 10'000) == 1);
    }
    clients.reapEnded();
    children.pids.clear();
    CHECK(clients.mayServe(1));
    waiting.clear();
    clients.appendTo(waiting);
    CHECK(waiting.empty());
}

TEST_CASE("the log has a budget for clients of other users", "[service]") {
    LogBudget budget;
    const LogBudget::Clock::time_point begin = LogBudget::Clock::now();
    unsigned logged = 0;
    LogBudget::Answer answer{};
    while ((answer = budget.take(begin)) == LogBudget::Answer::Log)
        REQUIRE(++logged < 1000);
    CHECK(answer == LogBudget::Answer::LastWords);
    CHECK(budget.take(begin + 1s) == LogBudget::Answer::Silence);
    CHECK(budget.take(begin + 61s) == LogBudget::Answer::Log);
}
