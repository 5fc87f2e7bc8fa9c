// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/net/changed_options.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "criu/sockets/socket_options.hpp"
#include "criu/sockets/socket_queue.hpp"
#include "images/sk-packet.hpp"

namespace criu::sockets {
namespace {

constexpr std::size_t kFirstBuffer = 64 << 10;
constexpr std::size_t kLargestBuffer = std::size_t{1} << 30;
/// Maximum size in bytes of the ancillary data of one message: up to 253 descriptors (SCM_MAX_FD), credentials, a label
/// and a pidfd.
constexpr std::size_t kControlSize = 8192;
constexpr uid_t kOverflowUid = 65534;
constexpr int kScmPidFd = 4;  // SCM_PIDFD of kernel 6.5

/// Result of one recvmsg(2) with MSG_PEEK.
struct Peeked {
    bool any = false;
    bool truncated = false;
    std::size_t length = 0;
    std::vector<UniqueFd> rights;
    std::optional<ucred> sender;
    std::string address;
};

/// Scope that changes an option of the dumped socket. The destructor restores the value `before`, which is in the
/// journal.
class TemporaryOption {
public:
    TemporaryOption(int fd, int option, int value, const char* name, int before)
        : fd_(fd), option_(option), before_(before) {
        sys(::setsockopt(fd, SOL_SOCKET, option, &value, sizeof(value)), "set socket option {}", name);
    }
    ~TemporaryOption() { ::setsockopt(fd_, SOL_SOCKET, option_, &before_, sizeof(before_)); }
    TemporaryOption(const TemporaryOption&) = delete;
    TemporaryOption& operator=(const TemporaryOption&) = delete;

private:
    int fd_;
    int option_;
    int before_;
};

/// Values of the options that Peeker changes.
struct PeekOptions {
    int offset = 0;
    int credentials = 0;

    /// Reads the values, and writes them to the journal.
    static PeekOptions of(int fd, Journal& journal) {
        const PeekOptions now{readOption(fd, SOL_SOCKET, SO_PEEK_OFF, "SO_PEEK_OFF"),
                              readOption(fd, SOL_SOCKET, SO_PASSCRED, "SO_PASSCRED")};
        struct stat status {};
        if (journal.isOpen() && ::fstat(fd, &status) == 0)
            kernel::recordOptions({{status.st_ino, {{SO_PEEK_OFF, now.offset}, {SO_PASSCRED, now.credentials}}}},
                                  journal);
        return now;
    }
};

void takeControl(msghdr& message, Peeked& out) {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET)
            continue;
        const unsigned char* const data = CMSG_DATA(header);
        const std::size_t size = header->cmsg_len - CMSG_LEN(0);
        if (header->cmsg_type == SCM_RIGHTS || header->cmsg_type == kScmPidFd) {
            for (std::size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
                int fd = -1;
                std::memcpy(&fd, data + at, sizeof(fd));
                UniqueFd received(fd);
                if (header->cmsg_type == SCM_RIGHTS)
                    out.rights.push_back(std::move(received));
            }
        } else if (header->cmsg_type == SCM_CREDENTIALS && size >= sizeof(ucred)) {
            ucred sender{};
            std::memcpy(&sender, data, sizeof(sender));
            out.sender = sender;
        }
    }
}

/// Copies the queue of a socket by recvmsg(2) with MSG_PEEK, which removes nothing from the queue. SO_PEEK_OFF
/// (socket(7), Linux 3.4) sets an offset at which each call begins; after the call, the kernel moves the offset behind
/// the returned data. Without SO_PEEK_OFF, each call would return the first message.
class Peeker {
public:
    /// `memory`: must outlive this object; the peeker may enlarge it.
    Peeker(int fd, PeekMemory& memory, const PeekOptions& before)
        : fd_(fd),
          offset_(fd, SO_PEEK_OFF, 0, "SO_PEEK_OFF", before.offset),
          credentials_(fd, SO_PASSCRED, 1, "SO_PASSCRED", before.credentials),
          buffer_(memory.buffer),
          wall_(memory.wall) {}

    /// Copies the next piece of the queue: one datagram, or the bytes of a stream up to the end of the next message
    /// with descriptors.
    Peeked next() {
        for (;;) {
            Peeked piece = peek(buffer_.size());
            // If the piece is longer than the buffer, the buffer grows and the call is repeated. Each peek creates the
            // descriptors of its messages again, so a piece with descriptors must be copied by one call.
            if (!piece.truncated && (piece.rights.empty() || piece.length < buffer_.size())) {
                position_ += piece.length;
                return piece;
            }
            if (buffer_.size() >= kLargestBuffer)
                fail("a message of more than {} bytes waits in a socket", buffer_.size());
            buffer_.resize(buffer_.size() * 2);
            rewind(position_);
        }
    }

    /// Returns how many bytes of the stream piece that next() has just returned come before the message with
    /// descriptors. `length`: size of this piece.
    std::size_t plainPart(std::size_t length) {
        // A peek into a stream continues from message to message, and stops behind a message with descriptors. If the
        // buffer becomes full earlier, the kernel still creates the descriptors of the next message
        // (unix_stream_read_generic() in net/unix/af_unix.c). So criu doesn't know to which bytes of the piece the
        // descriptors belong.
        //
        // But the kernel stops a peek before a message that it can't copy completely. Here the last byte of the piece
        // has no writable memory, so that the kernel returns only the bytes before the message with descriptors.
        rewind(position_ - length);
        const std::array<iovec, 2> target{iovec{buffer_.data(), length - 1}, iovec{wall_.data(), 1}};
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(target.data());
        message.msg_iovlen = target.size();
        const ssize_t got = ::recvmsg(fd_, &message, MSG_PEEK | MSG_DONTWAIT);
        if (got < 0 && errno != EFAULT)
            failErrno("look at what waits in a socket before descriptors in flight");
        rewind(position_);
        return got < 0 ? 0 : static_cast<std::size_t>(got);
    }

    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    [[nodiscard]] std::span<const std::byte> data(std::size_t length) const { return {buffer_.data(), length}; }

private:
    void rewind(std::size_t position) {
        const int value = static_cast<int>(position);
        sys(::setsockopt(fd_, SOL_SOCKET, SO_PEEK_OFF, &value, sizeof(value)), "move in the queue of a socket");
    }

    Peeked peek(std::size_t most) {
        alignas(cmsghdr) char control[kControlSize];
        sockaddr_un from{};
        iovec vector{buffer_.data(), most};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof(from);
        message.msg_iov = &vector;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        constexpr int kHow = MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
        ssize_t got = ::recvmsg(fd_, &message, kHow);
        if (got < 0 && errno == ECONNRESET)  // before it returns data, the kernel reports ECONNRESET once
            got = ::recvmsg(fd_, &message, kHow);
        Peeked out;
        if (got < 0) {
            if (errno == EAGAIN)
                return out;
            failErrno("look at what waits in a socket");
        }
        takeControl(message, out);
        if ((message.msg_flags & MSG_CTRUNC) != 0)
            fail("not all descriptors in flight could be received");
        out.length = static_cast<std::size_t>(got);
        out.truncated = (message.msg_flags & MSG_TRUNC) != 0;
        // With SO_PASSCRED, recvmsg(2) returns credentials even for an empty message, but not at the end of the stream.
        out.any = got > 0 || out.sender;
        constexpr std::size_t kHead = offsetof(sockaddr_un, sun_path);
        if (message.msg_namelen > kHead)
            out.address.assign(from.sun_path,
                               std::min<std::size_t>(message.msg_namelen - kHead, sizeof(from.sun_path)));
        // The kernel returns these values for a message that was sent without credentials.
        if (out.sender && out.sender->pid == 0 && out.sender->uid == kOverflowUid && out.sender->gid == kOverflowUid)
            out.sender.reset();
        return out;
    }

    int fd_;
    TemporaryOption offset_;
    TemporaryOption credentials_;
    std::vector<std::byte>& buffer_;
    const Mapping& wall_;
    std::size_t position_ = 0;
};

/// Scope that uses memory of a list. The destructor returns it, unless a large message has enlarged it.
class MemoryLoan {
public:
    explicit MemoryLoan(std::vector<PeekMemory>& spare) : spare_(spare) {
        if (!spare.empty()) {
            memory_ = std::move(spare.back());
            spare.pop_back();
            return;
        }
        memory_.buffer.resize(kFirstBuffer);
        memory_.wall = Mapping::anonymous(machinePageSize());
        sys(::mprotect(memory_.wall.data(), memory_.wall.size(), PROT_NONE), "protect a page");
    }
    ~MemoryLoan() {
        if (memory_.buffer.size() == kFirstBuffer)
            spare_.push_back(std::move(memory_));
    }
    MemoryLoan(const MemoryLoan&) = delete;
    MemoryLoan& operator=(const MemoryLoan&) = delete;
    [[nodiscard]] PeekMemory& get() { return memory_; }

private:
    std::vector<PeekMemory>& spare_;
    PeekMemory memory_;
};

/// Returns whether a socket of datagrams or packets may have a queue. poll(2) changes nothing, but a peek marks an
/// empty datagram as seen.
bool mayHavePackets(int fd) {
    pollfd waiting{fd, POLLIN, 0};
    return ::poll(&waiting, 1, 0) != 0;
}

void refuseOutOfBand(int fd) {
    char byte = 0;
    if (::recv(fd, &byte, sizeof(byte), MSG_OOB | MSG_PEEK | MSG_DONTWAIT) > 0)
        fail("an out-of-band byte waits to be received, which can't be dumped");
}

}  // namespace

void SocketQueueDump::add(int fd, int type, std::size_t waiting, FileId socket, files::FileDump& dump) {
    const bool stream = type == SOCK_STREAM;
    // A kill of criu would leave the options that Peeker sets, so a socket without a queue gets no Peeker.
    if (stream ? waiting == 0 : !mayHavePackets(fd))
        return;
    if (stream)
        refuseOutOfBand(fd);
    MemoryLoan memory(spare_);
    Peeker peeker(fd, memory.get(), PeekOptions::of(fd, dump.log().journal()));
    // Never peeks into an empty stream: recvmsg(2) would return and clear a pending connection error (SO_ERROR). The
    // program must get this error itself.
    while (!stream || peeker.position() < waiting) {
        dump.stop().throwIfRequested();
        Peeked piece = peeker.next();
        if (stream && (!piece.any || piece.length == 0))
            fail("only {} of {} bytes that wait in it could be read", peeker.position(), waiting);
        if (!piece.any)
            return;
        const std::size_t plain = stream && !piece.rights.empty() ? peeker.plainPart(piece.length) : 0;

        // Dumps the files in flight before the data. Such a file may be a socket, and its queue is then written before
        // this queue.
        ScmEntry rights = SCM_ENTRY__INIT;
        ScmEntry* all = &rights;
        std::vector<std::uint32_t> ids;
        for (UniqueFd& right : piece.rights)
            ids.push_back(dump.addInFlight(std::move(right)).value);
        rights.type = SCM_RIGHTS;
        rights.n_rights = ids.size();
        rights.rights = ids.data();

        SkUcredEntry sender = SK_UCRED_ENTRY__INIT;
        SkPacketEntry packet = SK_PACKET_ENTRY__INIT;
        packet.id_for = socket.value;
        if (piece.sender) {
            sender.pid = static_cast<std::uint32_t>(dump.pids().inside(HostPid(piece.sender->pid)).value);
            sender.uid = dump.ids().seenUid(piece.sender->uid);
            sender.gid = dump.ids().seenGid(piece.sender->gid);
            packet.ucred = &sender;
        }
        if (!stream && !piece.address.empty()) {
            packet.has_addr = 1;
            packet.addr = dump.arena().bytes(std::as_bytes(std::span(piece.address)));
        }
        if (!writer_)
            writer_.emplace(dump.images().create(ImageKind::SkQueues));
        const auto put = [&](std::span<const std::byte> data) {
            packet.length = static_cast<std::uint32_t>(data.size());
            writer_->write(packet);
            writer_->payload(data);
        };
        const std::span<const std::byte> data = peeker.data(piece.length);
        if (plain > 0)
            put(data.first(plain));
        if (!ids.empty()) {
            packet.n_scm = 1;
            packet.scm = &all;
        }
        put(data.subspan(plain));
    }
}

void SocketQueueDump::finish() {
    if (writer_)
        writer_->finish();
}

}  // namespace criu::sockets
