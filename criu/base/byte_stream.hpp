// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "criu/base/unique_fd.hpp"

namespace criu {

class StopRequest;

/// Pipe, socket or file that criu reads or writes in one direction, while another process has the other end. Each wait
/// ends when that process closes its end, when the user requests a stop, or after a timeout. Only one thread may use an
/// object at a time.
class ByteStream {
public:
    /// Becomes the owner of the descriptor. `patience` is the timeout for a wait in which the other process reads or
    /// writes nothing; 0 means no timeout. `name` appears in messages. `stop` must outlive this object. Throws Error
    /// for a terminal, because a user passes a terminal only by mistake.
    ByteStream(UniqueFd fd, StopRequest& stop, std::chrono::seconds patience, std::string name);

    /// Writes all bytes. Throws Error: EPIPE if the other end is closed, ETIMEDOUT, EINTR.
    void write(std::span<const std::byte> bytes);

    /// Reads until `into` is full or the stream ends, and returns the number of bytes read. Throws the same errors as
    /// write().
    [[nodiscard]] std::size_t read(std::span<std::byte> into);

    /// Returns true if the reader has read all written bytes from a pipe (FIONREAD). Always returns true for other
    /// files.
    [[nodiscard]] bool isDrained() const noexcept;

    /// Closes the descriptor after the last write. Throws Error if close(2) reports a failed write, for instance on a
    /// full disk.
    void close();

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    enum class Kind { Pipe, Socket, Other };

    [[nodiscard]] std::ptrdiff_t writeSome(std::span<const std::byte> bytes) const noexcept;
    void await(short events, const char* what);

    UniqueFd fd_;
    StopRequest& stop_;
    std::optional<std::chrono::milliseconds> patience_;
    std::string name_;
    Kind kind_ = Kind::Other;
    std::size_t most_;  ///< maximal number of bytes per call of write(2), so that the call doesn't block
};

}  // namespace criu
