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

/// One direction of a pipe, a socket or a file that others have the other end of. Every wait for them ends: when they
/// have closed it, when a stop is requested, and when they let nothing go on for too long. For one thread at a time.
class ByteStream {
public:
    /// `patience`: how long the other side may neither take nor send anything; 0: as long as it likes. `name` appears
    /// in messages. `stop` outlives this object. Throws Error for terminals, which nobody means.
    ByteStream(UniqueFd fd, StopRequest& stop, std::chrono::seconds patience, std::string name);

    /// Writes all of it. Throws Error: EPIPE if nobody is there to read it, ETIMEDOUT, EINTR.
    void write(std::span<const std::byte> bytes);

    /// Reads as much as comes, at most until `into` is full; less only at the end of the stream. Throws Error as
    /// write() does.
    [[nodiscard]] std::size_t read(std::span<std::byte> into);

    /// Whether everything written was taken out again, as far as the kernel knows: always true for anything but pipes.
    [[nodiscard]] bool isDrained() const noexcept;

    /// No more is written: closes it. Throws Error, such as one of a full disk that shows now.
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
    std::size_t most_;  ///< for one call of write(2), so that it doesn't wait by itself
};

}  // namespace criu
