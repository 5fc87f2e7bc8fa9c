// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/byte_stream.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/ready_wait.hpp"

namespace criu {
namespace {

/// Capacity of a pipe in bytes. With a larger pipe, the processes at its ends switch context less often.
constexpr int kPipeSize = 1 << 20;

}  // namespace

ByteStream::ByteStream(UniqueFd fd, StopRequest& stop, std::chrono::seconds patience, std::string name)
    : fd_(std::move(fd)), stop_(stop), name_(std::move(name)), most_(SIZE_MAX / 2) {
    if (patience.count() > 0)
        patience_ = patience;
    struct stat status {};
    sys(::fstat(fd_.get(), &status), "{}", name_);
    if (::isatty(fd_.get()) != 0)
        fail("{} is a terminal, and a stream is for programs", name_);
    if (S_ISSOCK(status.st_mode))
        kind_ = Kind::Socket;
    if (!S_ISFIFO(status.st_mode))
        return;
    kind_ = Kind::Pipe;
    // Fails if the size is above /proc/sys/fs/pipe-max-size, and then the pipe keeps its size.
    ::fcntl(fd_.get(), F_SETPIPE_SZ, kPipeSize);
    const int access = ::fcntl(fd_.get(), F_GETFL) & O_ACCMODE;
    if (access == O_RDONLY)
        return;
    // The kernel stores O_NONBLOCK in the open file description, which other processes may share. So criu opens the
    // pipe a second time. If that fails, criu writes at most PIPE_BUF bytes per call, because poll(2) reports a pipe as
    // writable only if it has space for PIPE_BUF bytes.
    UniqueFd own(::open(fmt::format("/proc/self/fd/{}", fd_.get()).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (own)
        fd_ = std::move(own);
    else
        most_ = PIPE_BUF;
}

void ByteStream::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (most_ == PIPE_BUF)
            await(POLLOUT, "takes nothing");
        const std::ptrdiff_t done = writeSome(bytes.first(std::min(bytes.size(), most_)));
        if (done >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(done));
            continue;
        }
        if (errno == EAGAIN)
            await(POLLOUT, "takes nothing");
        else if (errno != EINTR)
            failErrno("write to {}", name_);
    }
}

std::ptrdiff_t ByteStream::writeSome(std::span<const std::byte> bytes) const noexcept {
    if (kind_ == Kind::Socket)
        return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return ::write(fd_.get(), bytes.data(), bytes.size());
}

std::size_t ByteStream::read(std::span<std::byte> into) {
    std::size_t have = 0;
    while (have < into.size()) {
        if (kind_ != Kind::Other)
            await(POLLIN, "sends nothing");
        const ssize_t got = ::read(fd_.get(), into.data() + have, into.size() - have);
        if (got == 0)
            break;
        if (got > 0)
            have += static_cast<std::size_t>(got);
        else if (errno != EINTR && errno != EAGAIN)
            failErrno("read from {}", name_);
    }
    return have;
}

bool ByteStream::isDrained() const noexcept {
    int left = 0;
    return kind_ != Kind::Pipe || ::ioctl(fd_.get(), FIONREAD, &left) != 0 || left == 0;
}

void ByteStream::close() {
    if (::close(fd_.release()) < 0)
        failErrno("close {}", name_);
}

void ByteStream::await(short events, const char* what) {
    if (!waitReady(fd_.get(), events, stop_, patience_))
        failWith(ETIMEDOUT, "the other side of {} {} for {} s (--timeout)", name_, what, patience_->count() / 1000);
}

}  // namespace criu
