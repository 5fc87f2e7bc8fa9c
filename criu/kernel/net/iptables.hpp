// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace criu::kernel {

/// How long, in seconds, iptables waits for its lock: who holds it may be frozen.
inline constexpr const char* kIptablesWait = "--wait=10";

/// The programs iptables-restore(8) and iptables-save(8), for IPv4 or IPv6: the only interface to their rules that all
/// their variants (legacy and nf_tables) have in common. They act on the network namespace of the calling thread.
class Iptables {
public:
    enum class Family { V4, V6 };

    explicit Iptables(Family family) : family_(family) {}

    /// Whether the programs are there.
    [[nodiscard]] bool available() const;

    /// Runs lines in the format of iptables-restore, leaving other rules alone; all or none of them take effect. Throws
    /// Error with the program's message.
    void run(const std::string& lines) const;

    /// The rules of the filter table, one a line.
    [[nodiscard]] std::string filterRules() const;

private:
    [[nodiscard]] std::string program(const char* verb) const;

    Family family_;
};

}  // namespace criu::kernel
