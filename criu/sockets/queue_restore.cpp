// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/small_payloads.hpp"
#include "criu/sockets/socket_queue.hpp"
#include "images/sk-packet.hpp"

namespace criu::sockets {
namespace {

/// Maximum number of descriptors in a message: SCM_MAX_FD of the kernel.
constexpr std::size_t kMaxRights = 253;

/// Ancillary data of a message that criu sends.
class Control {
public:
    void add(int type, const void* value, std::size_t size) {
        // SocketQueues::load() has checked the size. The check here gives the compiler a bound.
        if (size > kMaxRights * sizeof(int))
            fail("ancillary data of {} bytes are more than one message can carry", size);
        const std::size_t at = bytes_.size();
        bytes_.resize(at + CMSG_SPACE(size));
        cmsghdr header{};
        header.cmsg_level = SOL_SOCKET;
        header.cmsg_type = type;
        header.cmsg_len = CMSG_LEN(size);
        std::memcpy(bytes_.data() + at, &header, sizeof(header));
        std::memcpy(bytes_.data() + at + CMSG_LEN(0), value, size);
    }
    void attachTo(msghdr& message) {
        message.msg_control = bytes_.empty() ? nullptr : bytes_.data();
        message.msg_controllen = bytes_.size();
    }

private:
    std::vector<char> bytes_;
};

}  // namespace

void SocketQueues::load(const ImageDir& images) {
    auto reader = images.openRead(ImageKind::SkQueues);
    if (!reader)
        return;
    SmallPayloads small;
    while (const auto record = reader->next<SkPacketEntry>()) {
        const SkPacketEntry& entry = **record;
        QueuedPacket packet;
        packet.offset = reader->offset();
        packet.length = entry.length;
        for (const ScmEntry* const control : list(entry.scm, entry.n_scm)) {
            if (control->type != SCM_RIGHTS)
                fail("{}: a message has ancillary data of type {}, which can't be restored", reader->name(),
                     control->type);
            for (const std::uint32_t id : list(control->rights, control->n_rights))
                packet.rights.emplace_back(id);
        }
        if (packet.rights.size() > kMaxRights)
            fail("{}: a message has {} files in flight, more than {}", reader->name(), packet.rights.size(),
                 kMaxRights);
        if (entry.ucred != nullptr)
            packet.sender = ucred{static_cast<pid_t>(entry.ucred->pid), entry.ucred->uid, entry.ucred->gid};
        if (entry.has_addr != 0)
            packet.address.assign(reinterpret_cast<const char*>(entry.addr.data), entry.addr.len);
        packet.data = small.take(*reader, packet.length);
        queues_[FileId{entry.id_for}].push_back(std::move(packet));
    }
}

std::span<const QueuedPacket> SocketQueues::of(FileId socket) const {
    const auto found = queues_.find(socket);
    return found == queues_.end() ? std::span<const QueuedPacket>() : found->second;
}

std::vector<std::byte> QueueFiller::read(const QueuedPacket& packet) {
    if (!image_) {
        auto image = images_.openRaw(ImageKind::SkQueues, 0, O_RDONLY);
        if (!image)
            fail("the image of socket queues has gone");
        image_ = toServiceRange_(std::move(*image));
    }
    std::vector<std::byte> data(packet.length);
    {
        const ErrorContext context([] { return "the image of socket queues"; });
        readAt(image_.get(), data, packet.offset);
    }
    return data;
}

void QueueFiller::send(int sender, const QueuedPacket& packet, std::string_view to) {
    const bool known = packet.data.size() == packet.length;
    const std::vector<std::byte> late = known ? std::vector<std::byte>() : read(packet);
    const std::span<const std::byte> data = known ? packet.data : late;
    std::vector<int> rights;
    for (const FileId id : packet.rights) {
        const int fd = find_(id);
        if (fd < 0)
            fail("file {} is in flight, but isn't open", id);
        rights.push_back(fd);
    }
    // If the sending process has ended, the message has the sender's uid and gid, but not its pid.
    ucred from = packet.sender.value_or(ucred{});
    from.pid = numberOf_(TreePid(from.pid));
    for (;;) {
        Control control;
        if (!rights.empty())
            control.add(SCM_RIGHTS, rights.data(), rights.size() * sizeof(int));
        if (packet.sender)
            control.add(SCM_CREDENTIALS, &from, sizeof(from));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        iovec vector{const_cast<std::byte*>(data.data()), data.size()};
        msghdr message{};
        if (!to.empty()) {
            std::memcpy(address.sun_path, to.data(), std::min(to.size(), sizeof(address.sun_path)));
            message.msg_name = &address;
            message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + to.size());
        }
        message.msg_iov = &vector;
        message.msg_iovlen = 1;
        control.attachTo(message);
        const ssize_t sent = ::sendmsg(sender, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(data.size()))
            return;
        if (sent < 0 && errno == ESRCH && packet.sender && from.pid != ::getpid()) {
            from.pid = ::getpid();
            continue;
        }
        if (sent < 0)
            failErrno("put {} bytes back into the queue of a socket", data.size());
        fail("only {} of {} bytes fit into the queue of a socket", sent, data.size());
    }
}

}  // namespace criu::sockets
