// SPDX-License-Identifier: GPL-2.0-only
// Network namespaces of tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace zdtm {

// Enters a new network namespace and brings up its loopback device. Skips the test if there is no ip(8).
void enter_new_network();

// Returns the output of a shell command, which must succeed.
std::string output_of(const std::string& command);

// Runs a command in criu's network namespace and returns its output.
std::string output_outside(const std::string& command);

// Runs a function in criu's network namespace, for example to open a socket.
void outside(const std::function<void()>& work);

// Sends a datagram from here to a socket in criu's network namespace, which gets this IPv4 address.
void check_way_out(const char* address);

// Output of commands about a network namespace. check() requires the same output later.
class Sights {
public:
    explicit Sights(std::vector<std::string> commands);
    void check() const;

private:
    std::vector<std::string> commands_;
    std::vector<std::string> answers_;
};

}  // namespace zdtm
