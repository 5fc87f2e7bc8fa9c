// SPDX-License-Identifier: GPL-2.0-only
// What tests of network namespaces need.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace zdtm {

// A new network namespace with its loopback device up. Skips the test where there is no ip(8).
void enter_new_network();

// What a shell command prints; the test fails if the command does.
std::string output_of(const std::string& command);

// The same in the network namespace that criu is in, from anywhere.
std::string output_outside(const std::string& command);

// Does something there: opens a socket, for example.
void outside(const std::function<void()>& work);

// Sends a datagram from here to a socket there, which gets this (IPv4) address.
void check_way_out(const char* address);

// What commands say of a network namespace now; they must say the same later.
class Sights {
public:
    explicit Sights(std::vector<std::string> commands);
    void check() const;

private:
    std::vector<std::string> commands_;
    std::vector<std::string> answers_;
};

}  // namespace zdtm
