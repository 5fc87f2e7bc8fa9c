// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/predump/wp_tracker_daemon.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "criu/base/crypto.hpp"
#include "criu/base/descriptors.hpp"
#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_title.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/kernel/daemon_process.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/kernel/peer_auth.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"

namespace criu::engine {
namespace {

enum class Word : std::uint32_t {
    List,    ///< to the daemon: send a Task for each tracked task, then End
    Task,    ///< with a userfaultfd; to the daemon after Begin
    End,     ///< with the id of the tree
    Begin,   ///< to the daemon: its state becomes invalid
    Commit,  ///< to the daemon, with the new id; answered by End
    Finish,  ///< to the daemon: exit
    Key,     ///< to the daemon: address of the images' key? Answered by Key, or by End if there is none
    Keep,    ///< to the daemon after Begin: address of a key; answered by End when the key has been read
};

/// One packet.
struct Message {
    Word word{};
    std::int32_t pid = 0;
    std::uint64_t number = 0;  ///< start time in a Task, else an address in the sender
    TrackingId id{};
};

/// Returns a message with the address of bytes in this process.
Message placeOf(Word word, std::span<const std::byte> bytes) {
    return {word, ::getpid(), reinterpret_cast<std::uintptr_t>(bytes.data()), {}};
}

/// Reads a key from the peer's memory. A dump is a child of the authenticated process, so the pid in the message is
/// trusted.
std::shared_ptr<crypto::SecretBytes> readKey(const Message& place) {
    auto key = std::make_shared<crypto::SecretBytes>(kImagesKeySize);
    kernel::readMemory(place.pid, place.number, key->bytes());
    return key;
}

/// Time limit for an answer. The daemon has nothing else to do.
constexpr timeval kAnswerWithin{10, 0};
/// Maximum number of clients that wait for their turn.
constexpr int kWaiting = 1;
constexpr int kIntroducedWithin = 10'000;  // in milliseconds

void send(int socket, const Message& message, int fd = -1) {
    kernel::sendMessage(socket, std::as_bytes(std::span(&message, 1)), fd);
}

/// Receives a message; nothing if the peer has closed the connection. Throws Error.
std::optional<Message> receive(int socket, UniqueFd& fd) {
    Message message;
    kernel::ReceivedMessage received = kernel::receiveMessage(socket, std::as_writable_bytes(std::span(&message, 1)));
    if (received.size == 0)
        return std::nullopt;
    if (received.size != sizeof(message))
        fail("a message of {} bytes instead of {}", received.size, sizeof(message));
    if (received.lost)
        failWith(EMFILE, "take over a userfaultfd");
    fd = std::move(received.fd);
    return message;
}

/// Abstract address of the daemon. It has no file and vanishes with the socket.
struct WpTrackerAddress {
    explicit WpTrackerAddress(const GuardedRoot& root) {
        const kernel::ProcPid dir = kernel::ProcDir().open(root.process.pid());
        kernel::ProcBuffer buffer;
        const std::string name =
            fmt::format("criu-tracking-{}-{}-{}", root.process.pid(), kernel::readStat(dir, buffer).startTime,
                        root.home.of(kernel::NamespaceKind::Pid).value_or(0));
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }
    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address{};
    socklen_t size = 0;
};

UniqueFd makeWpTrackerSocket() {
    return UniqueFd(sys(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "make a socket"));
}

/// Serves one client at a time.
class WpTrackerDaemon {
public:
    /// `client`: connection of the process that started the daemon.
    WpTrackerDaemon(UniqueFd listener, UniqueFd client, UniqueFd root)
        : listener_(std::move(listener)), client_(std::move(client)), root_(std::move(root)) {}

    void run() {
        while (!ends_) {
            pollfd events[] = {
                {root_.get(), POLLIN, 0}, {client_.get(), POLLIN, 0}, {client_ ? -1 : listener_.get(), POLLIN, 0}};
            const int count = ::poll(events, std::size(events), introduction_ ? kIntroducedWithin : -1);
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
        client_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client_)
            return;  // the client has left
        try {
            introduction_ = std::make_unique<PeerAuthentication>(client_.get());
        } catch (const Error&) {
            dismiss();
        }
    }

    /// Serves one message. A client that sends an unexpected message is disconnected, because others may wait.
    void serve() {
        try {
            if (introduction_) {
                if (introduction_->take())
                    introduction_.reset();
                return;
            }
            UniqueFd fd;
            const std::optional<Message> message = receive(client_.get(), fd);
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
                    send(client_.get(), {Word::Task, task.pid.value, task.startTime, {}}, task.userfaultfd.get());
                send(client_.get(), {Word::End, 0, 0, tree_.id});
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
                send(client_.get(), {Word::End, 0, 0, tree_.id});
                return true;
            case Word::Key:
                send(client_.get(),
                     tree_.imagesKey ? placeOf(Word::Key, tree_.imagesKey->bytes()) : Message{Word::End});
                return true;
            case Word::Keep:
                next_.imagesKey = readKey(message);
                send(client_.get(), {Word::End, 0, 0, {}});
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
        introduction_.reset();
        ends_ = !valid_;
    }

    UniqueFd listener_;
    UniqueFd client_;
    UniqueFd root_;
    std::unique_ptr<PeerAuthentication> introduction_;  ///< null if the client has passed peer authentication
    TrackedTree tree_;
    TrackedTree next_;
    bool valid_ = false;
    bool ends_ = false;
};

/// Runs the daemon, without other descriptors, directories, session or blocked signals of criu.
[[noreturn]] void runSharedPagesDaemon(UniqueFd listener, UniqueFd client, UniqueFd root, pid_t pid) {
    try {
        detachFromCommand();
        closeStandardStreams();
        closeAllExcept({listener.get(), client.get(), root.get()});
        setProcessTitle(fmt::format("tracks the memory of {}", pid));
        listenAsCurrentProcess(listener.get(), kWaiting);
        WpTrackerDaemon(std::move(listener), std::move(client), std::move(root)).run();
    } catch (const std::exception&) {
        // The error can't be reported. Without the daemon, the next dump contains all pages and warns.
    }
    ::_exit(0);
}

}  // namespace

std::string describe(const TrackingId& id) {
    std::string text;
    for (const std::byte byte : id)
        text += fmt::format("{:02x}", static_cast<unsigned>(byte));
    return text;
}

std::optional<WpTrackerLink> WpTrackerLink::find(const GuardedRoot& root, Log& log) {
    const WpTrackerAddress address(root);
    UniqueFd socket = makeWpTrackerSocket();
    if (::connect(socket.get(), address.get(), address.size) != 0)
        return std::nullopt;
    try {
        if (authenticateTo(socket.get()) == PeerAuthResult::Believed)
            return WpTrackerLink(std::move(socket));
        log.warn("Another process has taken the name of the process that tracks memory of process {}",
                 root.process.pid());
    } catch (const Error& error) {
        log.warn("The process that tracks memory of process {} isn't believed: {}", root.process.pid(), error.what());
    }
    return std::nullopt;
}

std::optional<WpTrackerLink> WpTrackerLink::start(const GuardedRoot& root, ImageKeys& keys, Log& log) {
    try {
        const WpTrackerAddress address(root);
        UniqueFd listener = makeWpTrackerSocket();
        sys(::bind(listener.get(), address.get(), address.size), "take the name of the tree's tracking");
        int ends[2];
        sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel");
        UniqueFd own(ends[0]);
        UniqueFd client(ends[1]);
        UniqueFd process(sys(::fcntl(root.process.fd(), F_DUPFD_CLOEXEC, 0), "copy a pidfd"));
        createDaemon("the process that tracks memory", [&] {
            keys = {};  // the daemon's copy would stay in memory as long as the tree
            runSharedPagesDaemon(std::move(listener), std::move(client), std::move(process), root.process.pid());
        });
        ::setsockopt(own.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerWithin, sizeof(kAnswerWithin));
        return WpTrackerLink(std::move(own));
    } catch (const Error& error) {
        log.warn("Memory can't be tracked: {}", error.what());
        return std::nullopt;
    }
}

TrackedTree WpTrackerLink::list() {
    send(socket_.get(), {Word::List, 0, 0, {}});
    TrackedTree tree;
    for (;;) {
        UniqueFd fd;
        const std::optional<Message> message = receive(socket_.get(), fd);
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
    send(socket_.get(), {Word::Key, 0, 0, {}});
    UniqueFd none;
    const std::optional<Message> answer = receive(socket_.get(), none);
    if (!answer)
        fail("the process that tracks memory doesn't answer");
    return answer->word == Word::Key ? readKey(*answer) : nullptr;
}

void WpTrackerLink::begin() {
    send(socket_.get(), {Word::Begin, 0, 0, {}});
}

void WpTrackerLink::commit(const TrackedTree& tree) {
    for (const TrackedTask& task : tree.tasks)
        send(socket_.get(), {Word::Task, task.pid.value, task.startTime, {}}, task.userfaultfd.get());
    UniqueFd none;
    if (tree.imagesKey) {
        send(socket_.get(), placeOf(Word::Keep, tree.imagesKey->bytes()));
        if (const auto kept = receive(socket_.get(), none); !kept || kept->word != Word::End)
            fail("the process that tracks memory can't take the key of the images");
    }
    send(socket_.get(), {Word::Commit, 0, 0, tree.id});
    const std::optional<Message> answer = receive(socket_.get(), none);
    if (!answer || answer->word != Word::End || answer->id != tree.id)
        fail("the process that tracks memory is gone");
}

void WpTrackerLink::finish() {
    send(socket_.get(), {Word::Finish, 0, 0, {}});
}

}  // namespace criu::engine
