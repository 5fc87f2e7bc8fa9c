// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace criu::kernel {

/// Seconds that iptables waits for its lock: the lock's holder may be frozen.
inline constexpr const char* kIptablesWait = "--wait=10";

/// The programs iptables-restore(8) and iptables-save(8), for IPv4 or IPv6. They are the only interface that all
/// iptables variants (legacy and nf_tables) share. They act on the calling thread's network namespace.
class Iptables {
public:
    enum class Family { V4, V6 };

    explicit Iptables(Family family) : family_(family) {}

    /// Returns true if the programs are installed.
    [[nodiscard]] bool available() const;

    /// Runs lines in the format of iptables-restore atomically, and keeps other rules. Throws Error with the
    /// program's message.
    void run(const std::string& lines) const;

    /// Returns the rules of the filter table, one a line.
    [[nodiscard]] std::string filterRules() const;

private:
    [[nodiscard]] std::string program(const char* verb) const;

    Family family_;
};

}  // namespace criu::kernel
