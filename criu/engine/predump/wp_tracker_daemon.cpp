// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/predump/wp_tracker_daemon.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/descriptors.hpp"
#include "criu/base/error.hpp"
#include "criu/base/hex.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/local_channel.hpp"
#include "criu/kernel/daemon_process.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/peer_auth.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"

namespace criu::engine {
namespace {

enum class Word : std::uint32_t {
    List,    ///< client to daemon: request for one Task for each tracked task, then End
    Task,    ///< reply to List: a tracked task with its userfaultfd; from the client, after Begin: a task to track
    End,     ///< daemon to client: last reply to a request, with the id of the daemon's state
    Begin,   ///< client to daemon: the daemon's state becomes invalid
    Commit,  ///< client to daemon: the new state is complete, with its id; the daemon replies with End
    Finish,  ///< client to daemon: the daemon must exit
    /// Client to daemon: request for the address of the images' key. The daemon replies with Key; without a key, with
    /// End.
    Key,
    /// Client to daemon, after Begin: address of the new images' key. When the daemon has read the key, it replies with
    /// End.
    Keep,
};

/// Message between the daemon and its client, a dump; sent as one packet.
struct Message {
    Word word{};
    std::int32_t pid = 0;
    /// Start time of the process in a Task; in other messages an address in the sender's memory.
    std::uint64_t number = 0;
    TrackingId id{};
};

/// Returns a message with this process' pid and the address of `bytes`, so that the peer can read `bytes` from the
/// memory of this process.
Message placeOf(Word word, std::span<const std::byte> bytes) {
    return {word, ::getpid(), reinterpret_cast<std::uintptr_t>(bytes.data()), {}};
}

/// Reads a key from the peer's memory. Trusts the pid in the message: the process of a dump is a child of the process
/// that has passed peer authentication. Throws Error if the sender has ended, because the pid then may belong to
/// another process.
std::shared_ptr<crypto::SecretBytes> readKey(const Message& place) {
    const kernel::PidFd sender(place.pid);
    auto key = std::make_shared<crypto::SecretBytes>(kImagesKeySize);
    kernel::readMemory(place.pid, place.number, key->bytes());
    if (sender.waitExit())
        failWith(ESRCH, "process {} has ended", place.pid);
    return key;
}

/// Maximum time of one blocking call on the connection. The daemon does no other work, so it always replies at once.
constexpr std::chrono::seconds kAnswerWithin{10};
/// Backlog of listen(2): maximum number of clients that wait for the daemon.
constexpr int kWaiting = 1;
constexpr int kAuthenticatedWithin = 10'000;  // maximum time for peer authentication in milliseconds

/// Returns the address of a tree's daemon, with the root's pid and start time.
DaemonAddress addressOf(const GuardedRoot& root) {
    const kernel::ProcPid dir = kernel::ProcDir().open(root.process.pid());
    kernel::ProcBuffer buffer;
    return DaemonAddress(fmt::format("tracking-{}-{}-{}", root.process.pid(), kernel::readStat(dir, buffer).startTime,
                                     root.home.of(kernel::NamespaceKind::Pid).value_or(0)));
}

/// The daemon, which serves one client after the other.
class WpTrackerDaemon {
public:
    /// `client`: connection of the process that started the daemon.
    WpTrackerDaemon(int listener, UniqueFd client, UniqueFd root)
        : listener_(listener), client_(std::move(client)), root_(std::move(root)) {}

    void run() {
        while (!ends_) {
            pollfd events[] = {
                {root_.get(), POLLIN, 0}, {client_.get(), POLLIN, 0}, {client_ ? -1 : listener_, POLLIN, 0}};
            const int count = ::poll(events, std::size(events), peerAuth_ ? kAuthenticatedWithin : -1);
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0 || events[0].revents != 0)
                return;
            if (count == 0)
                dismiss();
            if (events[1].revents != 0)
                serve();
            if (events[2].revents != 0)
                accept();
        }
    }

private:
    void accept() {
        client_.reset(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
        if (!client_)
            return;  // the client has closed the connection
        try {
            limitBlocking(client_.get(), kAnswerWithin);
            peerAuth_ = std::make_unique<PeerAuthentication>(client_.get());
        } catch (const Error&) {
            dismiss();
        }
    }

    /// Serves one message. Disconnects a client that sends an unexpected message, so that waiting clients get their
    /// turn.
    void serve() {
        try {
            if (peerAuth_) {
                if (peerAuth_->take())
                    peerAuth_.reset();
                return;
            }
            UniqueFd fd;
            const std::optional<Message> message = receivePacket<Message>(client_.get(), fd);
            if (!message || !answer(*message, std::move(fd)))
                dismiss();
        } catch (const Error&) {
            dismiss();
        }
    }

    bool answer(const Message& message, UniqueFd fd) {
        switch (message.word) {
            case Word::List:
                for (const TrackedTask& task : tree_.tasks)
                    sendPacket(client_.get(), Message{Word::Task, task.pid.value, task.startTime, {}},
                               task.userfaultfd.get());
                sendPacket(client_.get(), Message{Word::End, 0, 0, tree_.id});
                return true;
            case Word::Begin:
                valid_ = false;
                next_ = {};
                return true;
            case Word::Task:
                next_.tasks.push_back({HostPid(message.pid), message.number, std::move(fd)});
                return true;
            case Word::Commit:
                tree_ = std::move(next_);
                tree_.id = message.id;
                next_ = {};
                valid_ = true;
                sendPacket(client_.get(), Message{Word::End, 0, 0, tree_.id});
                return true;
            case Word::Key:
                sendPacket(client_.get(),
                           tree_.imagesKey ? placeOf(Word::Key, tree_.imagesKey->bytes()) : Message{Word::End});
                return true;
            case Word::Keep:
                next_.imagesKey = readKey(message);
                sendPacket(client_.get(), Message{Word::End, 0, 0, {}});
                return true;
            case Word::Finish:
                ends_ = true;
                return true;
            case Word::End:
                break;
        }
        return false;
    }

    void dismiss() noexcept {
        client_.reset();
        peerAuth_.reset();
        ends_ = !valid_;
    }

    int listener_;
    UniqueFd client_;
    UniqueFd root_;
    /// Peer authentication in progress; null without a client, and for a client that has passed.
    std::unique_ptr<PeerAuthentication> peerAuth_;
    TrackedTree tree_;
    TrackedTree next_;
    bool valid_ = false;
    bool ends_ = false;
};

/// Runs the daemon in this process. First gives up criu's other descriptors, directories, session and blocked signals.
[[noreturn]] void runWpTrackerDaemon(DaemonPlace place, UniqueFd client, UniqueFd root, pid_t pid) {
    try {
        detachFromCommand();
        closeStandardStreams();
        std::vector<int> kept = place.descriptors();
        kept.insert(kept.end(), {client.get(), root.get()});
        closeAllExcept(kept);
        setProcessTitle(fmt::format("tracks the memory of {}", pid));
        limitBlocking(client.get(), kAnswerWithin);
        listenAsCurrentProcess(place.listener(), kWaiting);
        WpTrackerDaemon(place.listener(), std::move(client), std::move(root)).run();
    } catch (const std::exception&) {
        // Ignores the error, because no process would read its message. Without the daemon, the next dump warns and
        // writes all pages.
    }
    place.remove();
    ::_exit(0);
}

/// Waits for a message of the daemon. Returns nothing if the daemon has closed the connection. Throws Error.
std::optional<Message> receiveAnswer(int socket, const WaitLimit& limit, UniqueFd& fd) {
    if (!waitReady(socket, POLLIN, limit))
        failWith(ETIMEDOUT, "the process that tracks memory doesn't answer");
    return receivePacket<Message>(socket, fd);
}

}  // namespace

std::string describe(const TrackingId& id) {
    return toHex(id);
}

WpTrackerLink::WpTrackerLink(UniqueFd socket, const WaitLimit& limit) noexcept
    : socket_(std::move(socket)), stop_(&limit.stop.get()), timeout_(limit.duration) {}

std::optional<WpTrackerLink> WpTrackerLink::find(const GuardedRoot& root, Run& run) {
    const WaitLimit limit = waitLimitOf(run.options, run.stop);
    Log& log = run.log;
    log.debug("Finding the daemon that tracks memory of process {}", root.process.pid());
    try {
        std::optional<UniqueFd> socket = addressOf(root).connect(limit);
        if (!socket)
            return std::nullopt;
        limitBlocking(socket->get(), kAnswerWithin);
        const PeerAuthResult result = authenticateTo(socket->get(), limit);
        if (result == PeerAuthResult::Believed)
            return WpTrackerLink(std::move(*socket), limit);
        if (result == PeerAuthResult::Gone)
            log.warn("The process that tracks memory of process {} has ended", root.process.pid());
        else
            log.warn("Another process has taken the name of the process that tracks memory of process {}",
                     root.process.pid());
    } catch (const Error& error) {
        run.stop.throwIfRequested();
        log.warn("The process that tracks memory of process {} isn't believed: {}", root.process.pid(), error.what());
    }
    return std::nullopt;
}

std::optional<WpTrackerLink> WpTrackerLink::start(const GuardedRoot& root, Run& run) {
    try {
        UniqueFd process(sys(::fcntl(root.process.fd(), F_DUPFD_CLOEXEC, 0), "copy a pidfd"));
        std::optional<UniqueFd> own =
            startDaemon(addressOf(root), "the process that tracks memory", [&](DaemonPlace place, UniqueFd client) {
                run.keys = {};  // erases the daemon's copy of the keys, because the daemon lives as long as the tree
                runWpTrackerDaemon(std::move(place), std::move(client), std::move(process), root.process.pid());
            });
        if (!own)
            failWith(EADDRINUSE, "take the name of the tree's tracking");
        limitBlocking(own->get(), kAnswerWithin);
        return WpTrackerLink(std::move(*own), waitLimitOf(run.options, run.stop));
    } catch (const Error& error) {
        run.log.warn("Memory can't be tracked: {}", error.what());
        return std::nullopt;
    }
}

TrackedTree WpTrackerLink::list() {
    sendPacket(socket_.get(), Message{Word::List, 0, 0, {}});
    TrackedTree tree;
    for (;;) {
        UniqueFd fd;
        const std::optional<Message> message = receiveAnswer(socket_.get(), {*stop_, timeout_}, fd);
        if (!message)
            fail("the process that tracks memory doesn't answer");
        if (message->word == Word::End) {
            tree.id = message->id;
            return tree;
        }
        if (message->word != Word::Task || !fd || !kernel::isUserfaultfd(fd.get()))
            fail("the process that tracks memory sends something else than a userfaultfd");
        tree.tasks.push_back({HostPid(message->pid), message->number, std::move(fd)});
    }
}

std::shared_ptr<crypto::SecretBytes> WpTrackerLink::imagesKey() {
    const ErrorContext context([] { return "the key of the earlier images"; });
    sendPacket(socket_.get(), Message{Word::Key, 0, 0, {}});
    UniqueFd none;
    const std::optional<Message> answer = receiveAnswer(socket_.get(), {*stop_, timeout_}, none);
    if (!answer)
        fail("the process that tracks memory doesn't answer");
    return answer->word == Word::Key ? readKey(*answer) : nullptr;
}

void WpTrackerLink::begin() {
    sendPacket(socket_.get(), Message{Word::Begin, 0, 0, {}});
}

void WpTrackerLink::commit(const TrackedTree& tree) {
    for (const TrackedTask& task : tree.tasks)
        sendPacket(socket_.get(), Message{Word::Task, task.pid.value, task.startTime, {}}, task.userfaultfd.get());
    UniqueFd none;
    if (tree.imagesKey) {
        sendPacket(socket_.get(), placeOf(Word::Keep, tree.imagesKey->bytes()));
        if (const auto kept = receiveAnswer(socket_.get(), {*stop_, timeout_}, none); !kept || kept->word != Word::End)
            fail("the process that tracks memory can't take the key of the images");
    }
    sendPacket(socket_.get(), Message{Word::Commit, 0, 0, tree.id});
    const std::optional<Message> answer = receiveAnswer(socket_.get(), {*stop_, timeout_}, none);
    if (!answer || answer->word != Word::End || answer->id != tree.id)
        fail("the process that tracks memory is gone");
}

void WpTrackerLink::finish() {
    sendPacket(socket_.get(), Message{Word::Finish, 0, 0, {}});
}

}  // namespace criu::engine
