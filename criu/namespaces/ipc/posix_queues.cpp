// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/posix_queues.hpp"

#include <limits.h>
#include <linux/securebits.h>
#include <mqueue.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/posix_queue.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/ipc/ipc_limits.hpp"
#include "images/ipc-mqueue.hpp"

namespace criu::namespaces {
namespace {

const char* asText(const std::byte* bytes) noexcept {
    return reinterpret_cast<const char*>(bytes);
}

/// Messages that criu has removed from their queue for a moment. The destructor sends them to the queue again.
class TakenMessages {
public:
    /// Receives all messages of the queue.
    TakenMessages(int queue, const kernel::PosixQueueState& state)
        : queue_(queue),
          memory_(state.bytes + static_cast<std::size_t>(state.messageSize)),
          room_(static_cast<std::size_t>(state.messageSize)) {
        taken_.reserve(static_cast<std::size_t>(state.waiting));
        // From here to the end of putBack(), criu allocates no memory: an exception would lose messages.
        while (taken_.size() < taken_.capacity() && used_ + room_ <= memory_.size()) {
            unsigned priority = 0;
            auto* const place = memory_.data() + used_;
            const ssize_t size = ::mq_receive(queue_, reinterpret_cast<char*>(place), room_, &priority);
            if (size < 0)
                break;
            taken_.push_back({priority, {place, static_cast<std::size_t>(size)}});
            used_ += static_cast<std::size_t>(size);
        }
    }
    TakenMessages(const TakenMessages&) = delete;
    TakenMessages& operator=(const TakenMessages&) = delete;
    ~TakenMessages() { (void)putBack(); }

    /// Sends the messages to the queue again. If a message can't be sent, returns false and sets errno. The messages
    /// after it stay out of the queue then, so that the order is kept.
    [[nodiscard]] bool putBack() noexcept {
        while (back_ < taken_.size() && send(taken_[back_]))
            ++back_;
        return back_ == taken_.size();
    }

    [[nodiscard]] std::vector<PosixMessage> copies() const {
        std::vector<PosixMessage> messages;
        for (const Taken& each : taken_)
            messages.push_back({each.priority, {each.text.begin(), each.text.end()}});
        return messages;
    }

    [[nodiscard]] std::size_t missing() const noexcept { return taken_.size() - back_; }

private:
    struct Taken {
        unsigned priority;
        std::span<const std::byte> text;
    };

    /// Repeats a failed attempt, because memory may be short for a moment, or another process may have filled the
    /// queue.
    [[nodiscard]] bool send(const Taken& message) const noexcept {
        constexpr int kTries = 500;
        constexpr std::chrono::milliseconds kPause{10};
        for (int attempt = 0; attempt < kTries; ++attempt) {
            if (::mq_send(queue_, asText(message.text.data()), message.text.size(), message.priority) == 0)
                return true;
            if (errno != EAGAIN && errno != ENOMEM && errno != EINTR)
                return false;
            std::this_thread::sleep_for(kPause);
        }
        return false;
    }

    int queue_;
    std::vector<std::byte> memory_;
    std::size_t room_;
    std::size_t used_ = 0;
    std::vector<Taken> taken_;
    std::size_t back_ = 0;  ///< number of messages that are in the queue again
};

/// Scope that raises RLIMIT_MSGQUEUE as far as this process may. The kernel charges the memory of a queue to the user
/// that creates it; here, this user is root.
class RoomForQueues {
public:
    RoomForQueues() {
        sys(::getrlimit(RLIMIT_MSGQUEUE, &before_), "look at the limit for POSIX message queues");
        const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
        const rlimit highest{before_.rlim_max, before_.rlim_max};
        if (::setrlimit(RLIMIT_MSGQUEUE, &unlimited) != 0)
            (void)::setrlimit(RLIMIT_MSGQUEUE, &highest);
    }
    RoomForQueues(const RoomForQueues&) = delete;
    RoomForQueues& operator=(const RoomForQueues&) = delete;
    ~RoomForQueues() { (void)::setrlimit(RLIMIT_MSGQUEUE, &before_); }

private:
    rlimit before_{};
};

std::string openingName(const PosixQueue& queue) {
    return "/" + queue.name;
}

void makeQueue(const PosixQueue& queue) {
    const ErrorContext context([&] { return fmt::format("POSIX message queue /{}", queue.name); });
    raiseIpcLimit("fs/mqueue/msg_max", queue.maxMessages);
    raiseIpcLimit("fs/mqueue/msgsize_max", queue.messageSize);
    mq_attr attributes{};
    attributes.mq_maxmsg = static_cast<long>(queue.maxMessages);
    attributes.mq_msgsize = static_cast<long>(queue.messageSize);
    constexpr int kHow = O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC;
    const UniqueFd made(::mq_open(openingName(queue).c_str(), kHow, S_IRUSR | S_IWUSR, &attributes));
    if (!made && errno == EMFILE) {
        Error error(errno, "make it");
        error.addHint("queues of one user may take as much memory as RLIMIT_MSGQUEUE allows (ulimit -q)");
        throw error;
    }
    sys(made.get(), "make it");
    for (const PosixMessage& message : queue.messages)
        sys(::mq_send(made.get(), asText(message.text.data()), message.text.size(), message.priority),
            "put in a message of {} bytes and priority {}", message.text.size(), message.priority);
    sys(::fchown(made.get(), queue.user, queue.group), "give it to {}:{}", queue.user, queue.group);
    sys(::fchmod(made.get(), queue.mode), "set its mode {:o}", queue.mode);
}

}  // namespace

std::vector<PosixMessage> copyPosixMessages(int queue) {
    const kernel::PosixQueueState state = kernel::readPosixQueueState(queue);
    TakenMessages taken(queue, state);
    if (!taken.putBack())
        failErrno("put back {} messages, which are lost: another process uses the queue", taken.missing());
    return taken.copies();
}

void writePosixQueues(ImageWriter& image, const std::vector<PosixQueue>& queues, const model::IdMap& owners) {
    for (const PosixQueue& queue : queues) {
        Arena arena;
        PosixQueueEntry entry = POSIX_QUEUE_ENTRY__INIT;
        entry.name = arena.string(queue.name);
        entry.mode = queue.mode;
        entry.uid = owners.innerUid(queue.user);
        entry.gid = owners.innerGid(queue.group);
        entry.max_messages = queue.maxMessages;
        entry.message_size = queue.messageSize;
        entry.has_deleted = entry.deleted = queue.deleted;
        entry.n_messages = queue.messages.size();
        entry.messages = arena.messages<PosixMessageEntry>(queue.messages.size());
        for (std::size_t at = 0; at < queue.messages.size(); ++at) {
            entry.messages[at]->priority = queue.messages[at].priority;
            entry.messages[at]->text = arena.bytes(queue.messages[at].text);
        }
        image.write(entry);
    }
}

std::vector<PosixQueue> parsePosixQueues(ImageReader& image, const model::IdMap& owners) {
    constexpr std::uint64_t kMost = LONG_MAX;  // maximum of fields of mq_attr
    std::vector<PosixQueue> queues;
    while (const auto record = image.next<PosixQueueEntry>()) {
        const PosixQueueEntry& entry = **record;
        PosixQueue& queue = queues.emplace_back();
        queue.name = entry.name;
        if (queue.name.empty() || queue.name.size() > NAME_MAX || queue.name.find('/') != std::string::npos)
            fail("{}: a POSIX message queue can't be called \"{}\"", image.name(), queue.name);
        queue.deleted = entry.deleted != 0;
        queue.mode = entry.mode & 07777U;
        queue.user = owners.outerUid(entry.uid);
        queue.group = owners.outerGid(entry.gid);
        queue.maxMessages = entry.max_messages;
        queue.messageSize = entry.message_size;
        if (queue.maxMessages > kMost || queue.messageSize > kMost || entry.n_messages > queue.maxMessages)
            fail("{}: POSIX message queue /{} can't have {} messages, {} of them in it, of up to {} bytes",
                 image.name(), queue.name, queue.maxMessages, entry.n_messages, queue.messageSize);
        for (const PosixMessageEntry* const message : list(entry.messages, entry.n_messages)) {
            const auto* const text = reinterpret_cast<const std::byte*>(message->text.data);
            queue.messages.push_back({message->priority, {text, text + message->text.len}});
        }
    }
    return queues;
}

void makePosixQueues(const std::vector<PosixQueue>& queues, const model::IdMap& owners) {
    if (queues.empty())
        return;
    const RoomForQueues room;
    raiseIpcLimit("fs/mqueue/queues_max", queues.size());
    kernel::runInThread([&] {
        // The file system of the user namespace accepts new files only from ids that the user namespace maps. So the
        // thread takes ids with a mapping, and keeps root's capabilities.
        if (owners.isOwnNamespace()) {
            sys(::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP),
                "make changes of the user leave capabilities alone");
            ::setfsgid(owners.outerGid(owners.firstGid()));
            ::setfsuid(owners.outerUid(owners.firstUid()));
        }
        for (const PosixQueue& queue : queues)
            makeQueue(queue);
    });
}

void removeDeletedQueues(const std::vector<PosixQueue>& queues) {
    for (const PosixQueue& queue : queues)
        if (queue.deleted)
            sys(::mq_unlink(openingName(queue).c_str()), "remove the name of POSIX message queue /{}", queue.name);
}

}  // namespace criu::namespaces
