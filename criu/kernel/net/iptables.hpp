// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace criu::kernel {

/// Option with which iptables waits at most ten seconds for its lock. Without a limit, it could wait endlessly, because
/// the process that has the lock may be frozen.
inline constexpr const char* kIptablesWait = "--wait=10";

/// Caller of iptables-restore(8) and iptables-save(8), for IPv4 or IPv6. criu uses programs, because only these work
/// with both variants of iptables, legacy and nf_tables. They act on the calling thread's network namespace.
class Iptables {
public:
    enum class Family { V4, V6 };

    explicit Iptables(Family family) : family_(family) {}

    /// Returns true if both programs are installed.
    [[nodiscard]] bool available() const;

    /// Applies lines in the format of iptables-restore as one change. Other rules stay. Throws Error with the program's
    /// message.
    void run(const std::string& lines) const;

    /// Returns the rules of the filter table, with one rule per line.
    [[nodiscard]] std::string filterRules() const;

private:
    [[nodiscard]] std::string program(const char* verb) const;

    Family family_;
};

}  // namespace criu::kernel
