// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/ipc_messages.hpp"

#include <sys/msg.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "criu/kernel/sysv_ipc.hpp"
#include "criu/model/ipc_owner.hpp"
#include "criu/namespaces/ipc/ipc_limits.hpp"
#include "images/ipc-msg.hpp"

namespace criu::namespaces {
namespace {

using kernel::IpcKind;

// MSG_COPY: copies the message at a position; the message stays in the queue.
constexpr int kCopy = 040000;
constexpr std::uint64_t kTextAlignment = 8;  // alignment of the image entry after a text

std::uint64_t paddingOfText(std::uint64_t bytes) {
    return (kTextAlignment - bytes % kTextAlignment) % kTextAlignment;
}

/// Buffer for msgsnd(2) and msgrcv(2): the message type (a long), then the text.
class MessageBuffer {
public:
    explicit MessageBuffer(std::size_t room) : bytes_(sizeof(long) + room) {}

    [[nodiscard]] std::byte* data() noexcept { return bytes_.data(); }
    [[nodiscard]] std::byte* text() noexcept { return bytes_.data() + sizeof(long); }
    [[nodiscard]] std::size_t room() const noexcept { return bytes_.size() - sizeof(long); }
    [[nodiscard]] long type() const noexcept {
        long type = 0;
        std::memcpy(&type, bytes_.data(), sizeof(type));
        return type;
    }
    void setType(long type) noexcept { std::memcpy(bytes_.data(), &type, sizeof(type)); }

private:
    std::vector<std::byte> bytes_;
};

QueuedMessage copyMessage(int id, long position, MessageBuffer& buffer) {
    const ssize_t size = ::msgrcv(id, buffer.data(), buffer.room(), position, IPC_NOWAIT | kCopy);
    if (size < 0) {
        Error error(errno, fmt::format("copy message {} of message queue {}", position, id));
        if (errno == EINVAL || errno == E2BIG)
            error.addHint("it may be larger than /proc/sys/kernel/msgmax allows now: raise that");
        throw error;
    }
    QueuedMessage message;
    message.type = buffer.type();
    message.text.assign(buffer.text(), buffer.text() + size);
    return message;
}

MessageQueue readQueue(int id, StopRequest& stop) {
    msqid_ds status{};
    sys(::msgctl(id, IPC_STAT, &status), "look at message queue {}", id);
    MessageQueue queue;
    queue.desc = model::describeIpc(id, status.msg_perm);
    queue.limit = static_cast<std::uint32_t>(status.msg_qbytes);
    // Holds every message: none is larger than the texts of all messages together.
    MessageBuffer buffer(status.__msg_cbytes);
    for (msgqnum_t position = 0; position < status.msg_qnum; ++position) {
        stop.throwIfRequested();
        queue.messages.push_back(copyMessage(id, static_cast<long>(position), buffer));
    }
    return queue;
}

}  // namespace

std::uint64_t MessageQueue::bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const QueuedMessage& message : messages)
        sum += message.text.size();
    return sum;
}

std::vector<MessageQueue> readMessageQueues(StopRequest& stop) {
    std::vector<MessageQueue> queues;
    for (const int id : kernel::listIpcIds(IpcKind::Messages))
        queues.push_back(readQueue(id, stop));
    return queues;
}

void writeMessageQueues(ImageWriter& image, const std::vector<MessageQueue>& queues) {
    for (const MessageQueue& queue : queues) {
        IpcDescEntry desc = queue.desc;
        IpcMsgEntry head = IPC_MSG_ENTRY__INIT;
        head.desc = &desc;
        head.qbytes = queue.limit;
        head.qnum = static_cast<std::uint32_t>(queue.messages.size());
        image.write(head);
        for (const QueuedMessage& message : queue.messages) {
            IpcMsg entry = IPC_MSG__INIT;
            entry.mtype = static_cast<std::uint64_t>(message.type);
            entry.msize = static_cast<std::uint32_t>(message.text.size());
            image.write(entry);
            image.payload(message.text);
            image.zeros(paddingOfText(message.text.size()));
        }
    }
}

std::vector<MessageQueue> parseMessageQueues(ImageReader& image) {
    std::vector<MessageQueue> queues;
    while (const auto head = image.next<IpcMsgEntry>()) {
        MessageQueue& queue = queues.emplace_back();
        queue.desc = *(*head)->desc;
        queue.desc.base.n_unknown_fields = 0;  // `record` owns these fields and frees them
        queue.desc.base.unknown_fields = nullptr;
        model::requireIpcDesc(queue.desc, "a message queue");
        queue.limit = (*head)->qbytes;
        for (std::uint32_t i = 0; i < (*head)->qnum; ++i) {
            const auto entry = image.one<IpcMsg>();
            QueuedMessage& message = queue.messages.emplace_back();
            message.type = static_cast<std::int64_t>(entry->mtype);
            if (message.type <= 0)
                fail("{}: message {} of queue {} has the type {}", image.name(), i, queue.desc.id, message.type);
            message.text = image.payload(entry->msize);
            image.skipPayload(paddingOfText(entry->msize));
        }
    }
    return queues;
}

void makeMessageQueue(const MessageQueue& queue) {
    const int id = static_cast<int>(queue.desc.id);
    std::size_t largest = 0;
    for (const QueuedMessage& message : queue.messages)
        largest = std::max(largest, message.text.size());
    raiseIpcLimit("kernel/msgmax", largest);
    // A new queue gets msgmnb as its limit. So raises msgmnb first, because raising the limit of an existing queue
    // needs CAP_SYS_RESOURCE.
    raiseIpcLimit("kernel/msgmnb", std::max<std::uint64_t>(queue.bytes(), queue.limit));

    kernel::chooseNextIpcId(IpcKind::Messages, id);
    int made = -1;
    kernel::withEffectiveIds(queue.desc.cuid, queue.desc.cgid, [&] {
        made = ::msgget(static_cast<key_t>(queue.desc.key),
                        IPC_CREAT | IPC_EXCL | static_cast<int>(queue.desc.mode & 0777U));
        sys(made, "create message queue {}", id);
    });
    if (made != id)
        fail("message queue {} got the id {}", id, made);

    MessageBuffer buffer(largest);
    for (const QueuedMessage& message : queue.messages) {
        buffer.setType(message.type);
        std::copy(message.text.begin(), message.text.end(), buffer.text());
        sys(::msgsnd(id, buffer.data(), message.text.size(), IPC_NOWAIT), "put a message of {} bytes into queue {}",
            message.text.size(), id);
    }
    msqid_ds status{};
    sys(::msgctl(id, IPC_STAT, &status), "look at message queue {}", id);
    status.msg_perm.uid = queue.desc.uid;
    status.msg_perm.gid = queue.desc.gid;
    status.msg_qbytes = queue.limit;
    sys(::msgctl(id, IPC_SET, &status), "give message queue {} to its owner", id);
}

}  // namespace criu::namespaces
