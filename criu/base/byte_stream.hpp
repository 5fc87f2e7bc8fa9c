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

/// One direction of a pipe, a socket or a file that another process has the other end of. Each wait ends when that
/// process closes its end, when a stop is requested, or after `patience`. Only one thread may use an object at a
/// time.
class ByteStream {
public:
    /// Takes the descriptor over. `patience` limits a wait in which the other side takes or sends nothing; 0 means
    /// no limit. `name` appears in messages. `stop` must outlive this object. Throws Error for terminals, since a
    /// user passes one only by mistake.
    ByteStream(UniqueFd fd, StopRequest& stop, std::chrono::seconds patience, std::string name);

    /// Writes all bytes. Throws Error: EPIPE if the other end is closed, ETIMEDOUT, EINTR.
    void write(std::span<const std::byte> bytes);

    /// Reads until `into` is full or the stream ends, and returns the number of bytes. Throws Error as write() does.
    [[nodiscard]] std::size_t read(std::span<std::byte> into);

    /// True if the reader has taken all written bytes out of a pipe (FIONREAD). Always true for other files.
    [[nodiscard]] bool isDrained() const noexcept;

    /// Closes the descriptor after the last write. Throws Error, for instance if the disk is full.
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
    std::size_t most_;  ///< bytes of one call of write(2), so that it doesn't block
};

}  // namespace criu
