// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_kinds.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

// Must be after sys/socket.h, because this header uses its declarations.
#include <linux/vm_sockets.h>

#include <array>
#include <string>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/record.hpp"
#include "criu/sockets/socket_options.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

struct VsockOption {
    int option;
    socklen_t size;
    const char* name;
};

// A restore sets the options in the order of this table. The limits of the buffer size come before the size, because
// the kernel clamps the size to these limits.
constexpr VsockOption kOptions[] = {
    {SO_VM_SOCKETS_BUFFER_MAX_SIZE, sizeof(std::uint64_t), "SO_VM_SOCKETS_BUFFER_MAX_SIZE"},
    {SO_VM_SOCKETS_BUFFER_MIN_SIZE, sizeof(std::uint64_t), "SO_VM_SOCKETS_BUFFER_MIN_SIZE"},
    {SO_VM_SOCKETS_BUFFER_SIZE, sizeof(std::uint64_t), "SO_VM_SOCKETS_BUFFER_SIZE"},
    {SO_VM_SOCKETS_CONNECT_TIMEOUT_OLD, sizeof(timeval), "SO_VM_SOCKETS_CONNECT_TIMEOUT"},
};

using OptionValue = std::array<std::byte, sizeof(timeval)>;

/// Returns the bytes of an option. The kernel requires the exact size.
std::span<const std::byte> readValue(int fd, const VsockOption& row, OptionValue& value) {
    socklen_t size = row.size;
    sys(::getsockopt(fd, AF_VSOCK, row.option, value.data(), &size), "read socket option {}", row.name);
    return std::span<const std::byte>(value).first(std::min(size, row.size));
}

std::string text(const sockaddr_vm& address) {
    const std::string cid = address.svm_cid == VMADDR_CID_ANY ? "any" : std::to_string(address.svm_cid);
    return fmt::format("cid {}, port {}", cid, address.svm_port);
}

sockaddr_vm ownAddress(int fd) {
    sockaddr_vm address{};
    socklen_t size = sizeof(address);
    sys(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), "read the address of a vsock socket");
    return address;
}

/// Throws Error. `why`: the reason, with the addresses. `hint`: what the user can do.
[[noreturn]] void refuse(const files::OpenFd& file, const std::string& why, std::string_view hint) {
    Error error(0, fmt::format("{} is a vsock socket {}", file.describe(), why));
    error.addHint(hint);
    throw error;
}

/// Refuses sockets that are connected, connecting or disconnected, or that have clients to accept. The kernel doesn't
/// show the state of a vsock socket. But each state that criu can dump has a poll(2) result that no other state has.
void refuseUnlessQuiet(const files::OpenFd& file, const sockaddr_vm& own, bool listening) {
    constexpr std::string_view kClose = "have the program close it before the dump";
    sockaddr_vm peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(file.copy.get(), reinterpret_cast<sockaddr*>(&peer), &size) == 0)
        refuse(file,
               fmt::format("connected to {} (from {}), which can't be dumped: the other machine has the other half",
                           text(peer), text(own)),
               kClose);
    if (errno != ENOTCONN)
        failErrno("read the peer of {}", file.describe());
    pollfd ask{file.copy.get(), POLLIN | POLLOUT | POLLRDHUP, 0};
    sys(::poll(&ask, 1, 0), "poll a vsock socket");
    if (listening) {
        if (ask.revents != 0)
            refuse(file, fmt::format("that listens at {} and has connections that aren't accepted yet", text(own)),
                   "try again when the program has accepted them");
        return;
    }
    if ((ask.revents & POLLERR) != 0)
        refuse(file, fmt::format("at {} with an error that the program hasn't read yet", text(own)),
               "try again when the program has read it");
    if (ask.revents == 0)
        refuse(file, fmt::format("that is being connected from {}, which can't be dumped", text(own)), kClose);
    if (ask.revents != POLLOUT)
        refuse(file, fmt::format("at {} whose connection has ended, which can't be dumped", text(own)), kClose);
}

class RestoredVsock final : public files::RestoredFile {
public:
    explicit RestoredVsock(const VsockSkEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override {
        return entry_.has_port != 0 ? fmt::format("vsock socket at {}", text(address())) : "vsock socket";
    }

    void open(files::FileOpener& opener) override {
        UniqueFd socket(sys(::socket(AF_VSOCK, static_cast<int>(entry_.type) | SOCK_CLOEXEC, 0),
                            "create a vsock socket of type {}", entry_.type));
        for (const VsockOption& row : kOptions)
            for (const SkMoreOpt* const more : list(entry_.more, entry_.n_more))
                if (more->level == AF_VSOCK && more->name == static_cast<std::uint32_t>(row.option))
                    sys(::setsockopt(socket.get(), AF_VSOCK, row.option, more->value.data,
                                     static_cast<socklen_t>(more->value.len)),
                        "set socket option {}", row.name);
        if (entry_.has_port != 0)
            bind(socket.get());
        // Uses the largest backlog, because the kernel doesn't show the dumped backlog.
        if (entry_.listening != 0)
            sys(::listen(socket.get(), SOMAXCONN), "listen at {}", text(address()));
        restoreSocketOptions(socket.get(), *entry_.opts, opener.log(), opener.usernsd());
        sys(::fcntl(socket.get(), F_SETFL, static_cast<int>(entry_.flags)), "set flags {:#o} of a vsock socket",
            entry_.flags);
        opener.provide(FileId{entry_.id}, std::move(socket));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    [[nodiscard]] sockaddr_vm address() const {
        sockaddr_vm address{};
        address.svm_family = AF_VSOCK;
        address.svm_cid = entry_.cid;
        address.svm_port = entry_.port;
        return address;
    }

    void bind(int socket) const {
        const sockaddr_vm where = address();
        if (::bind(socket, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0)
            return;
        Error error(errno, fmt::format("bind a vsock socket to {}", text(where)));
        if (error.code() == EADDRNOTAVAIL)
            error.addHint("this machine has another cid than the one that the program was dumped on");
        throw error;
    }

    const VsockSkEntry& entry_;
};

class VsockKindDump final : public files::FileKindDump {
public:
    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return file.socketFamily == AF_VSOCK; }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        const int fd = file.copy.get();
        const int type = readOption(fd, SOL_SOCKET, SO_TYPE, "SO_TYPE");
        if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
            refuse(file, fmt::format("of type {}, which can't be dumped", type), "");
        const bool listening = readOption(fd, SOL_SOCKET, SO_ACCEPTCONN, "SO_ACCEPTCONN") != 0;
        const sockaddr_vm own = ownAddress(fd);
        refuseUnlessQuiet(file, own, listening);

        Arena& arena = dump.arena();
        auto& out = *arena.make<VsockSkEntry>();
        entry.vsk = &out;
        out.id = entry.id;
        out.type = static_cast<std::uint32_t>(type);
        out.flags = file.statusFlags();
        out.fown = dump.owner(file);
        out.opts = dumpSocketOptions(fd, AF_VSOCK, arena);
        out.listening = listening;
        if (own.svm_port != VMADDR_PORT_ANY) {
            out.has_cid = out.has_port = 1;
            out.cid = own.svm_cid;
            out.port = own.svm_port;
        }
        addMore(fd, type, out, arena);
        out.has_ns_id = 1;
        out.ns_id = file.network;
    }

private:
    /// Stores options whose values differ from those of a new socket.
    static void addMore(int fd, int type, VsockSkEntry& out, Arena& arena) {
        const UniqueFd fresh(sys(::socket(AF_VSOCK, type | SOCK_CLOEXEC, 0), "create a vsock socket"));
        out.more = arena.array<SkMoreOpt*>(std::size(kOptions));
        for (const VsockOption& row : kOptions) {
            OptionValue value{};
            OptionValue usual{};
            const std::span<const std::byte> bytes = readValue(fd, row, value);
            readValue(fresh.get(), row, usual);
            if (value == usual)
                continue;
            auto& more = *arena.make<SkMoreOpt>();
            more.level = AF_VSOCK;
            more.name = static_cast<std::uint32_t>(row.option);
            more.value = arena.bytes(bytes);
            out.more[out.n_more++] = &more;
        }
    }
};

class VsockKindRestore final : public files::FileKindRestore {
public:
    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore&) override {
        if (entry.vsk == nullptr || entry.vsk->has_cid != entry.vsk->has_port ||
            (entry.vsk->listening != 0 && entry.vsk->has_port == 0))
            fail("file {} is said to be a vsock socket but has no proper description of one", entry.id);
        return std::make_shared<RestoredVsock>(*entry.vsk);
    }
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeVsockDump() {
    return std::make_unique<VsockKindDump>();
}

std::unique_ptr<files::FileKindRestore> makeVsockRestore() {
    return std::make_unique<VsockKindRestore>();
}

}  // namespace criu::sockets
