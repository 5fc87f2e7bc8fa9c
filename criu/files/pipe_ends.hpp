// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace criu::files {
struct OpenFd;
}

namespace criu::files {

/// Ends of pipes and fifos that processes of the tree have. If the tree has only one end, an external process may have
/// the other end, or no process has it any more.
class PipeEnds {
public:
    /// Stores an open file description of a pipe or fifo.
    void add(std::uint32_t pipe, const OpenFd& file);

    /// Returns pipes of which the tree has one end and an external process has the other end. The text describes the
    /// tree's first descriptor of the pipe, for messages. Call it when all open file descriptions are stored.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::string>> outside() const;

    /// Returns true if no process has a read end, as far as the stored descriptions show. Data that wait in such a pipe
    /// can be read by a descriptor that criu opens by /proc.
    [[nodiscard]] bool lacksReader(std::uint32_t pipe) const {
        const Pipe& known = pipes_.at(pipe);
        return !known.reads && !known.connected;
    }

    /// Returns true if the tree has the pipe open for writing.
    [[nodiscard]] bool isWritten(std::uint32_t pipe) const { return pipes_.at(pipe).writes; }

private:
    struct Pipe {
        std::string shown;
        bool reads = false;      ///< true if the tree has a read end
        bool writes = false;     ///< true if the tree has a write end
        bool connected = false;  ///< true if a process has the other end open
    };
    std::map<std::uint32_t, Pipe> pipes_;
};

}  // namespace criu::files
