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

/// Which ends of pipes and fifos the tree has, and whether anybody has the other ends. Of a pipe with one end in the
/// tree the other one may have been closed everywhere, or be somebody's outside of the tree.
class PipeEnds {
public:
    /// Notes an open description of a pipe.
    void add(std::uint32_t pipe, const OpenFd& file);

    /// Pipes with one end in the tree and the other one outside of it, and what their first descriptor is called in
    /// messages. To be asked when all descriptions are noted.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::string>> outside() const;

    /// Whether the tree has the pipe open for writing.
    [[nodiscard]] bool isWritten(std::uint32_t pipe) const { return pipes_.at(pipe).writes; }

private:
    struct Pipe {
        std::string shown;
        bool reads = false;      ///< the tree has an end to read from
        bool writes = false;     ///< and one to write to
        bool connected = false;  ///< the other end of one of these is open somewhere
    };
    std::map<std::uint32_t, Pipe> pipes_;
};

}  // namespace criu::files
