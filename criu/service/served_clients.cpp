// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/served_clients.hpp"

#include <sys/wait.h>

#include <algorithm>

namespace criu::service {

bool ServedClients::mayServe(uid_t user) const noexcept {
    if (all_.size() >= kClientsInAll)
        return false;
    if (user == owner_)
        return true;
    const auto ofUser = std::count_if(all_.begin(), all_.end(), [&](const Served& one) { return one.user == user; });
    const auto ofUsers = std::count_if(all_.begin(), all_.end(), [&](const Served& one) { return one.user != owner_; });
    return static_cast<std::size_t>(ofUser) < kClientsOfUser && static_cast<std::size_t>(ofUsers) < kClientsOfUsers;
}

void ServedClients::appendTo(std::vector<pollfd>& waiting) const {
    for (const Served& one : all_)
        waiting.push_back({one.process.fd(), POLLIN, 0});
}

void ServedClients::reapEnded() {
    std::erase_if(all_, [](const Served& one) {
        if (!one.process.waitExit())
            return false;
        (void)one.process.wait(WEXITED);
        return true;
    });
}

LogBudget::Answer LogBudget::take(Clock::time_point now) noexcept {
    if (begin_ == Clock::time_point{} || now - begin_ >= kPeriod) {
        begin_ = now;
        used_ = 0;
    }
    if (used_ > kClients)
        return Answer::Silence;
    return used_++ < kClients ? Answer::Log : Answer::LastWords;
}

}  // namespace criu::service
