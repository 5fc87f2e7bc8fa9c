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

/// Ends of pipes and fifos in the tree, and whether their other ends are open. If the tree has one end, an external
/// process may have the other, or it was closed.
class PipeEnds {
public:
    /// Stores an open file description of a pipe.
    void add(std::uint32_t pipe, const OpenFd& file);

    /// Returns pipes with one end in the tree and an external one, each with the name of its first descriptor for
    /// messages. Valid when all descriptions are stored.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::string>> outside() const;

    /// True if the tree has the pipe open for writing.
    [[nodiscard]] bool isWritten(std::uint32_t pipe) const { return pipes_.at(pipe).writes; }

private:
    struct Pipe {
        std::string shown;
        bool reads = false;      ///< the tree has a read end
        bool writes = false;     ///< the tree has a write end
        bool connected = false;  ///< the other end of one of these is open
    };
    std::map<std::uint32_t, Pipe> pipes_;
};

}  // namespace criu::files
