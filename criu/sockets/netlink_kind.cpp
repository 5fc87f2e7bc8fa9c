// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_kinds.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/net/netlink_diag.hpp"
#include "criu/sockets/socket_options.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

constexpr std::uint32_t kConnected = 1;
constexpr std::uint32_t kBitsOfWord = 32;
constexpr int kGetStrictCheck = 12;  // NETLINK_GET_STRICT_CHK (4.20)

constexpr int kFlags[] = {NETLINK_PKTINFO, NETLINK_BROADCAST_ERROR, NETLINK_NO_ENOBUFS, NETLINK_LISTEN_ALL_NSID,
                          NETLINK_CAP_ACK, NETLINK_EXT_ACK,         kGetStrictCheck};

std::uint32_t boundPort(int fd) {
    sockaddr_nl address{};
    socklen_t size = sizeof(address);
    sys(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), "read the address of a netlink socket");
    return address.nl_pid;
}

/// Returns a bit mask of the multicast groups that the socket has joined, without zero words at the end.
std::vector<std::uint32_t> groupsOf(int fd) {
    std::array<std::uint32_t, 256> words{};
    socklen_t size = sizeof(words);
    sys(::getsockopt(fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, words.data(), &size),
        "read the groups of a netlink socket");
    std::size_t count = std::min<std::size_t>(words.size(), size / sizeof(std::uint32_t));
    while (count > 0 && words[count - 1] == 0)
        --count;
    return {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count)};
}

class RestoredNetlink final : public files::RestoredFile {
public:
    explicit RestoredNetlink(const NetlinkSkEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override {
        return fmt::format("netlink socket of protocol {}", entry_.protocol);
    }

    void open(files::FileOpener& opener) override {
        const int type = entry_.has_type != 0 ? static_cast<int>(entry_.type) : SOCK_RAW;
        UniqueFd socket(sys(::socket(AF_NETLINK, type | SOCK_CLOEXEC, static_cast<int>(entry_.protocol)),
                            "create a netlink socket of protocol {}", entry_.protocol));
        if (entry_.portid != 0)
            bind(socket.get(), opener.log());
        joinGroups(socket.get());
        if (entry_.state == kConnected)
            connect(socket.get());
        const int on = 1;
        for (const std::uint32_t flag : list(entry_.set_opts, entry_.n_set_opts))
            sys(::setsockopt(socket.get(), SOL_NETLINK, static_cast<int>(flag), &on, sizeof(on)),
                "set option {} of a netlink socket", flag);
        restoreSocketOptions(socket.get(), *entry_.opts, opener.log(), opener.usernsd());
        sys(::fcntl(socket.get(), F_SETFL, static_cast<int>(entry_.flags)), "set flags {:#o} of a netlink socket",
            entry_.flags);
        opener.provide(FileId{entry_.id}, std::move(socket));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    void bind(int socket, Log& log) const {
        sockaddr_nl address{};
        address.nl_family = AF_NETLINK;
        address.nl_pid = entry_.portid;
        if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
            return;
        if (errno != EADDRINUSE)
            failErrno("bind a netlink socket to port {}", entry_.portid);
        // The port belongs to another socket, so the kernel chooses a port. Few programs depend on the number, because
        // most programs let the kernel choose their port.
        address.nl_pid = 0;
        sys(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind a netlink socket");
        log.warn("Port {} of a netlink socket of protocol {} is taken: it is {} now", entry_.portid, entry_.protocol,
                 boundPort(socket));
    }

    void joinGroups(int socket) const {
        for (std::uint32_t word = 0; word < entry_.n_groups; ++word)
            for (std::uint32_t bit = 0; bit < kBitsOfWord; ++bit) {
                if ((entry_.groups[word] >> bit & 1U) == 0)
                    continue;
                const std::uint32_t group = word * kBitsOfWord + bit + 1;
                sys(::setsockopt(socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)),
                    "join group {} of netlink protocol {}", group, entry_.protocol);
            }
    }

    void connect(int socket) const {
        sockaddr_nl address{};
        address.nl_family = AF_NETLINK;
        address.nl_pid = entry_.dst_portid;
        if (entry_.dst_group > kBitsOfWord)
            fail("a netlink socket sends to group {}, which can't be said to the kernel", entry_.dst_group);
        if (entry_.dst_group != 0)
            address.nl_groups = 1U << (entry_.dst_group - 1);
        sys(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
            "connect a netlink socket to port {}", entry_.dst_portid);
    }

    const NetlinkSkEntry& entry_;
};

class NetlinkKindDump final : public files::FileKindDump {
public:
    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return file.socketFamily == AF_NETLINK; }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        const int fd = file.copy.get();
        // Uses poll(2): recv(2), even with MSG_PEEK, would clear the error that reports lost messages (ENOBUFS).
        pollfd ask{fd, POLLIN, 0};
        sys(::poll(&ask, 1, 0), "poll a netlink socket");
        if ((ask.revents & (POLLIN | POLLERR)) != 0) {
            Error error(0, fmt::format("{} is a netlink socket with messages that wait to be read, which can't be "
                                       "dumped",
                                       file.describe()));
            error.addHint("try again when the program has read them");
            throw error;
        }
        Arena& arena = dump.arena();
        auto& out = *arena.make<NetlinkSkEntry>();
        entry.nlsk = &out;
        out.id = entry.id;
        out.ino = static_cast<std::uint32_t>(file.stat.st_ino);
        out.protocol = static_cast<std::uint32_t>(readOption(fd, SOL_SOCKET, SO_PROTOCOL, "SO_PROTOCOL"));
        out.has_type = 1;
        out.type = static_cast<std::uint32_t>(readOption(fd, SOL_SOCKET, SO_TYPE, "SO_TYPE"));
        out.flags = file.statusFlags();
        out.portid = boundPort(fd);
        const std::vector<std::uint32_t> groups = groupsOf(fd);
        out.n_groups = groups.size();
        out.groups = arena.copy(std::span<const std::uint32_t>(groups));
        if (const kernel::NetlinkSocketInfo* const info = find(file); info != nullptr) {
            out.state = info->state;
            out.dst_portid = info->destinationPort;
            out.dst_group = info->destinationGroup;
        }
        out.has_ns_id = 1;
        out.ns_id = file.network;
        out.fown = dump.owner(file);
        out.opts = dumpSocketOptions(fd, AF_NETLINK, arena);
        std::vector<std::uint32_t> set;
        for (const int flag : kFlags) {
            int value = 0;
            socklen_t size = sizeof(value);
            if (::getsockopt(fd, SOL_NETLINK, flag, &value, &size) == 0 && value != 0)
                set.push_back(static_cast<std::uint32_t>(flag));
        }
        out.n_set_opts = set.size();
        out.set_opts = arena.copy(std::span<const std::uint32_t>(set));
    }

private:
    const kernel::NetlinkSocketInfo* find(const files::OpenFd& file) {
        if (read_.insert(file.network).second)
            for (kernel::NetlinkSocketInfo& info : kernel::readNetlinkSockets())
                all_.emplace(info.inode, std::move(info));
        const auto found = all_.find(static_cast<std::uint32_t>(file.stat.st_ino));
        return found == all_.end() ? nullptr : &found->second;
    }

    std::set<std::uint32_t> read_;  ///< ids of the network namespaces whose sockets are in `all_`
    std::map<std::uint32_t, kernel::NetlinkSocketInfo> all_;
};

class NetlinkKindRestore final : public files::FileKindRestore {
public:
    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore&) override {
        if (entry.nlsk == nullptr)
            fail("file {} is said to be a netlink socket but has no description of one", entry.id);
        return std::make_shared<RestoredNetlink>(*entry.nlsk);
    }
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeNetlinkDump() {
    return std::make_unique<NetlinkKindDump>();
}

std::unique_ptr<files::FileKindRestore> makeNetlinkRestore() {
    return std::make_unique<NetlinkKindRestore>();
}

}  // namespace criu::sockets
