// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/unique_fd.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace compel::test {

/// Forked process that calls `body` and exits with its result. Test and child exchange lines of text by a socket pair.
/// The destructor kills and reaps the child.
class Child {
public:
    /// One end of the socket pair, by which the child sends and receives lines.
    class Talk {
    public:
        explicit Talk(int fd) : fd_(fd) {}
        void say(const std::string& line) const;
        /// Returns the next line. Throws an exception if none comes within `patience`, or if the other side has ended.
        std::string hear(std::chrono::milliseconds patience = std::chrono::minutes(1)) const;

    private:
        int fd_;
    };

    explicit Child(const std::function<int(const Talk&)>& body);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void say(const std::string& line) const { talk().say(line); }
    /// Returns the child's next line. Throws an exception if the child ends or sends nothing for a minute.
    std::string hear() const { return talk().hear(); }
    /// Returns the exit status, or 128 + signal if a signal killed the child. Returns nothing if the child doesn't exit
    /// within a minute.
    std::optional<int> exitCode();
    /// Waits until the child's line State in /proc/PID/status has the value `state`.
    void awaitState(char state) const;

private:
    [[nodiscard]] Talk talk() const { return Talk(fd_.get()); }

    pid_t pid_ = -1;
    UniqueFd fd_;
    std::optional<int> code_;
};

/// Unregisters the calling thread's rseq area, which the C library has registered.
void leaveRseq();

/// Starts threads that wait for signals. Throws.
void startIdleThreads(int count);
/// Returns the number of threads of a process, an ended main thread included.
std::size_t threadsListed(pid_t pid);

char stateOf(pid_t tid);
/// Returns the value of a line of /proc/TID/status; "" if the file has no such line.
std::string statusOf(pid_t tid, const std::string& field);
std::string mapsOf(pid_t pid);
/// Polls `done` until it returns true, for at most a minute. Returns its last result.
bool eventually(const std::function<bool()>& done);

/// Returns true if the kernel runs 32-bit code in a 64-bit process. It doesn't without CONFIG_IA32_EMULATION on some
/// virtual machines.
bool runs32BitCode();

}  // namespace compel::test
