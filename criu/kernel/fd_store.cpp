// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/fd_store.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::kernel {
namespace {

constexpr std::array<const char*, kFdKeys> kKeyNames = {
    "images",        "log",          "control",   "namespaces", "mounts",  "control groups", "shared memory",
    "deleted files", "--inherit-fd", "terminals", "devices",    "usernsd", "store"};

/// Scope in which the calling thread has locked a robust mutex. If a process dies with the mutex locked, the next
/// process gets the mutex. The protected state is consistent even then, because each change of it is one system call.
class Locked {
public:
    explicit Locked(pthread_mutex_t& mutex) : mutex_(mutex) {
        const int code = ::pthread_mutex_lock(&mutex_);
        if (code == EOWNERDEAD)
            ::pthread_mutex_consistent(&mutex_);
        else if (code != 0)
            failWith(code, "lock the descriptor store");
    }
    ~Locked() { ::pthread_mutex_unlock(&mutex_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    pthread_mutex_t& mutex_;
};

/// Enlarges the send buffer, because each stored message counts against the send buffer until the queue is closed.
void makeRoom(int socket) {
    // Half of the largest int, because the kernel doubles the value.
    constexpr int kMost = std::numeric_limits<int>::max() / 2;
    if (::setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &kMost, sizeof(kMost)) != 0)
        // Without CAP_NET_ADMIN, the kernel limits the size to wmem_max.
        ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kMost, sizeof(kMost));
}

}  // namespace

/// State in memory that criu and all restored processes share.
struct FdStore::Shared {
    pthread_mutex_t mutex;
    std::uint32_t count;  ///< number of stored descriptors
};

void FdStore::reserve(int first, int last) {
    first_ = first;
    last_ = last;
    if (queue_) {
        sending_ = inherit(FdKey::Store, std::move(sending_));
        queue_ = inherit(FdKey::Store, std::move(queue_));
    }
}

UniqueFd FdStore::inherit(FdKey key, UniqueFd&& fd) {
    if (first_ < 0)
        fail("a descriptor is to be inherited, but no numbers are reserved for those yet");
    if (!fd || (fd.get() >= first_ && fd.get() <= last_))
        return std::move(fd);
    UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_));
    if (!moved) {
        Error error(errno, fmt::format("move fd {} to the numbers from {} on", fd.get(), first_));
        // The limit of open files is below the reserved range (EINVAL) or within it (EMFILE).
        if (error.code() == EMFILE || error.code() == EINVAL)
            error.addHint("raise the hard limit of open files: ulimit -Hn");
        throw error;
    }
    if (moved.get() > last_) {
        std::string users;
        for (std::size_t at = 0; at < kFdKeys; ++at)
            if (counts_[at] != 0)
                users += fmt::format("{}{} for {}", users.empty() ? "" : ", ", counts_[at], kKeyNames[at]);
        fail("the descriptors {} to {} that criu has for itself are used up: {}", first_, last_, users);
    }
    ++counts_[static_cast<std::size_t>(key)];
    fd.reset();
    return moved;
}

void FdStore::openQueue() {
    if (queue_)
        return;
    // Uses two sockets that are connected to each other. For these, the kernel limits only the total size of their
    // messages, but not the number of messages.
    int ends[2] = {-1, -1};
    sys(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
        "make sockets to store descriptors in");
    sending_.reset(ends[0]);
    UniqueFd queue(ends[1]);
    makeRoom(sending_.get());
    shared_ = Mapping::anonymous(pageAlignUp(sizeof(Shared)), MAP_SHARED);
    Shared& shared = *new (shared_.data()) Shared{};
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    ::pthread_mutex_init(&shared.mutex, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
    queue_ = std::move(queue);
    if (first_ >= 0)
        reserve(first_, last_);
}

void FdStore::closeQueue() noexcept {
    sending_.reset();
    queue_.reset();
}

FdStore::Id FdStore::add(int fd) const {
    if (!queue_)
        fail("descriptors can't be stored: the store isn't open");
    // Each message has one byte, so that the peek offset of a message equals its id.
    constexpr std::byte kNothing{};
    Shared& shared = *shared_.as<Shared>();
    const Locked lock(shared.mutex);
    {
        const ErrorContext context([&] { return fmt::format("store fd {}", fd); });
        sendMessage(sending_.get(), std::span(&kNothing, 1), fd);
    }
    return Id{shared.count++};
}

UniqueFd FdStore::get(Id id) const {
    if (!queue_)
        fail("descriptors can't be stored: the store isn't open");
    Shared& shared = *shared_.as<Shared>();
    const Locked lock(shared.mutex);
    if (id.value >= shared.count)
        fail("descriptor {} was never stored", id.value);
    // Reading also needs the lock, because all processes share the socket and its peek offset (socket(7), SO_PEEK_OFF).
    const int offset = static_cast<int>(id.value);
    sys(::setsockopt(queue_.get(), SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof(offset)), "look for stored descriptor {}",
        id.value);
    std::byte nothing{};
    ReceivedMessage received = peekMessage(queue_.get(), std::span(&nothing, 1));
    if (received.lost)
        fail("there was no room for stored descriptor {}: too many files are open", id.value);
    if (!received.fd)
        fail("stored descriptor {} is gone", id.value);
    return std::move(received.fd);
}

}  // namespace criu::kernel
