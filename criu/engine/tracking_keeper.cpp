// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/tracking_keeper.hpp"

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
#include "criu/engine/image_keys.hpp"
#include "criu/engine/keeper_process.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/process_vm.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/kernel/userfaultfd.hpp"

namespace criu::engine {
namespace {

enum class Word : std::uint32_t {
    List,    ///< to the keeper: send a Task for each, and End
    Task,    ///< with a userfaultfd; to the keeper, behind Begin
    End,     ///< with the id of all
    Begin,   ///< to the keeper; what it holds is void
    Commit,  ///< to the keeper, with the id; answered by End
    Finish,  ///< to the keeper
    Key,     ///< to the keeper, with the place of a proof: where is the key of the images? Answered by Key, or End if
             ///< there is none, with what lies there
    Prove,   ///< to the keeper; answered by Prove with the place of a proof
    Keep,    ///< to the keeper, behind Begin: where a key lies, with that proof; answered by End when it has been read
};

/// One packet.
struct Message {
    Word word{};
    std::int32_t pid = 0;
    std::uint64_t number = 0;  ///< of a Task its start time, otherwise an address in the process
    TrackingId id{};
};

/// Random bytes in memory of one side, which the other one tells if it may read there.
using Proof = TrackingId;

Proof makeProof() {
    Proof proof;
    crypto::randomize(proof);
    return proof;
}

/// Where something of this process lies.
Message placeOf(Word word, std::span<const std::byte> bytes, const Proof& proof = {}) {
    return {word, ::getpid(), reinterpret_cast<std::uintptr_t>(bytes.data()), proof};
}

/// Reads the other side's proof.
Proof readProof(const Message& place) {
    Proof proof{};
    kernel::readMemory(place.pid, place.number, proof);
    return proof;
}

/// Reads the other side's key.
std::shared_ptr<crypto::SecretBytes> readKey(const Message& place) {
    auto key = std::make_shared<crypto::SecretBytes>(kImagesKeySize);
    kernel::readMemory(place.pid, place.number, key->bytes());
    return key;
}

/// How long the other side may take for an answer: it has nothing else to do.
constexpr timeval kPatience{10, 0};

void send(int socket, const Message& message, int fd = -1) {
    kernel::sendMessage(socket, std::as_bytes(std::span(&message, 1)), fd);
}

/// Nothing if the other side is gone. Throws Error.
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

bool isOwnUser(int socket) noexcept {
    ucred peer{};
    socklen_t size = sizeof(peer);
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

/// An abstract address, which no file stands for and which ends with the socket.
struct Address {
    explicit Address(const GuardedRoot& root) {
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

UniqueFd makeSocket() {
    return UniqueFd(sys(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "make a socket"));
}

/// The keeper's side.
class Keeper {
public:
    Keeper(UniqueFd listener, UniqueFd client, UniqueFd root)
        : listener_(std::move(listener)), client_(std::move(client)), root_(std::move(root)) {}

    void run() {
        while (!ends_) {
            pollfd events[] = {
                {root_.get(), POLLIN, 0}, {client_.get(), POLLIN, 0}, {client_ ? -1 : listener_.get(), POLLIN, 0}};
            if (::poll(events, std::size(events), -1) < 0) {
                if (errno == EINTR)
                    continue;
                return;
            }
            if (events[0].revents != 0)
                return;
            if (events[1].revents != 0)
                serve();
            if (events[2].revents != 0)
                accept();
        }
    }

private:
    void accept() {
        client_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (client_ && !isOwnUser(client_.get()))
            client_.reset();
    }

    void serve() {
        UniqueFd fd;
        const std::optional<Message> message = receive(client_.get(), fd);
        if (!message)
            return dismiss();
        switch (message->word) {
            case Word::List:
                for (const TrackedTask& task : tree_.tasks)
                    send(client_.get(), {Word::Task, task.pid.value, task.startTime, {}}, task.userfaultfd.get());
                return send(client_.get(), {Word::End, 0, 0, tree_.id});
            case Word::Begin:
                valid_ = false;
                next_ = {};
                return;
            case Word::Task:
                next_.tasks.push_back({HostPid(message->pid), message->number, std::move(fd)});
                return;
            case Word::Commit:
                tree_ = std::move(next_);
                tree_.id = message->id;
                next_ = {};
                valid_ = true;
                return send(client_.get(), {Word::End, 0, 0, tree_.id});
            case Word::Key: {
                const Proof proof = readProof(*message);
                if (!tree_.imagesKey)
                    return send(client_.get(), {Word::End, 0, 0, proof});
                return send(client_.get(), placeOf(Word::Key, tree_.imagesKey->bytes(), proof));
            }
            case Word::Prove:
                proof_ = makeProof();
                return send(client_.get(), placeOf(Word::Prove, *proof_));
            case Word::Keep:
                if (const auto proof = std::exchange(proof_, std::nullopt); !proof || *proof != message->id)
                    return dismiss();
                next_.imagesKey = readKey(*message);
                return send(client_.get(), {Word::End, 0, 0, {}});
            case Word::End:
            case Word::Finish:
                ends_ = true;
                return;
        }
    }

    void dismiss() noexcept {
        client_.reset();
        ends_ = !valid_;
    }

    UniqueFd listener_;
    UniqueFd client_;
    UniqueFd root_;
    std::optional<Proof> proof_;  ///< which the client has to know
    TrackedTree tree_;
    TrackedTree next_;
    bool valid_ = false;
    bool ends_ = false;
};

/// What is left of criu in the keeper: no descriptor, directory, session or blocked signal.
[[noreturn]] void becomeKeeper(UniqueFd listener, UniqueFd client, UniqueFd root, pid_t pid) {
    try {
        leaveCommand();
        closeStandardStreams();
        closeAllBut({listener.get(), client.get(), root.get()});
        setProcessTitle(fmt::format("tracks the memory of {}", pid));
        Keeper(std::move(listener), std::move(client), std::move(root)).run();
    } catch (const std::exception&) {
        // Nobody listens. Without a keeper the next dump is a whole one, and says so.
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

std::optional<TrackingLink> TrackingLink::find(const GuardedRoot& root, Log& log) {
    const Address address(root);
    UniqueFd socket = makeSocket();
    if (::connect(socket.get(), address.get(), address.size) != 0)
        return std::nullopt;
    if (!isOwnUser(socket.get())) {
        log.warn("Somebody else has taken the name of the process that tracks memory of process {}",
                 root.process.pid());
        return std::nullopt;
    }
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    return TrackingLink(std::move(socket));
}

std::optional<TrackingLink> TrackingLink::start(const GuardedRoot& root, ImageKeys& keys, Log& log) {
    try {
        const Address address(root);
        UniqueFd listener = makeSocket();
        sys(::bind(listener.get(), address.get(), address.size), "take the name of the tree's tracking");
        sys(::listen(listener.get(), 1), "listen");
        int ends[2];
        sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel");
        UniqueFd own(ends[0]);
        UniqueFd client(ends[1]);
        UniqueFd process(sys(::fcntl(root.process.fd(), F_DUPFD_CLOEXEC, 0), "copy a pidfd"));
        createKeeper("the process that tracks memory", [&] {
            keys = {};  // its own copy, which would stay as long as the tree
            becomeKeeper(std::move(listener), std::move(client), std::move(process), root.process.pid());
        });
        ::setsockopt(own.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
        return TrackingLink(std::move(own));
    } catch (const Error& error) {
        log.warn("Memory can't be tracked: {}", error.what());
        return std::nullopt;
    }
}

TrackedTree TrackingLink::list() {
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

std::shared_ptr<crypto::SecretBytes> TrackingLink::imagesKey() {
    const ErrorContext context([] { return "the key of the earlier images"; });
    const Proof proof = makeProof();
    send(socket_.get(), placeOf(Word::Key, proof));
    UniqueFd none;
    const std::optional<Message> answer = receive(socket_.get(), none);
    if (!answer)
        fail("the process that tracks memory doesn't answer");
    if (answer->id != proof)
        fail("somebody else, who may not read criu's memory, has taken the name of the process that tracks memory");
    if (answer->word != Word::Key)
        return nullptr;
    return readKey(*answer);
}

void TrackingLink::begin() {
    send(socket_.get(), {Word::Begin, 0, 0, {}});
}

void TrackingLink::commit(const TrackedTree& tree) {
    for (const TrackedTask& task : tree.tasks)
        send(socket_.get(), {Word::Task, task.pid.value, task.startTime, {}}, task.userfaultfd.get());
    UniqueFd none;
    if (tree.imagesKey) {
        send(socket_.get(), {Word::Prove, 0, 0, {}});
        const auto place = receive(socket_.get(), none);
        if (!place || place->word != Word::Prove)
            fail("the process that tracks memory doesn't answer");
        send(socket_.get(), placeOf(Word::Keep, tree.imagesKey->bytes(), readProof(*place)));
        if (const auto kept = receive(socket_.get(), none); !kept || kept->word != Word::End)
            fail("the process that tracks memory can't take the key of the images");
    }
    send(socket_.get(), {Word::Commit, 0, 0, tree.id});
    const std::optional<Message> answer = receive(socket_.get(), none);
    if (!answer || answer->word != Word::End || answer->id != tree.id)
        fail("the process that tracks memory is gone");
}

void TrackingLink::finish() {
    send(socket_.get(), {Word::Finish, 0, 0, {}});
}

}  // namespace criu::engine
