// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/local_channel.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "criu/base/stop_request.hpp"
#include "criu/kernel/daemon_process.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

constexpr const char* kProgram = "criu";
constexpr const char* kDaemons = "daemons";
constexpr const char* kSocket = "socket";

/// Whether a missing directory is created.
enum class IfMissing { Create, Fail };

UniqueFd makePacketSocket(int flags = 0) {
    return UniqueFd(sys(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0), "make a socket"));
}

/// Returns the address of the socket in a daemon's directory. It uses a short path in /proc, because a socket address
/// has space for only 107 bytes.
sockaddr_un addressIn(int directory) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    fmt::format_to_n(address.sun_path, sizeof(address.sun_path) - 1, "/proc/self/fd/{}/{}", directory, kSocket);
    return address;
}

/// Opens a directory that belongs to this user. Throws Error, also if its mode allows another user one of `forbidden`.
UniqueFd openPrivate(int parent, const char* name, mode_t forbidden, IfMissing missing) {
    if (missing == IfMissing::Create)
        makeDirectory(parent, name, IfThere::Used);
    UniqueFd directory(
        sys(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), "open directory {}", name));
    struct stat status {};
    sys(::fstat(directory.get(), &status), "look at directory {}", name);
    if (status.st_uid != ::geteuid() || (status.st_mode & forbidden) != 0)
        failWith(EPERM, "directory {} isn't private: owner {}, mode {:o}", name, status.st_uid, status.st_mode & 07777);
    return directory;
}

/// Opens DIRECTORY/criu/FOLDER. Throws Error.
UniqueFd openFolder(const std::string& directory, IfMissing missing, const char* folder = kDaemons) {
    const ErrorContext context([&] { return directory; });
    const UniqueFd base = openControlled(directory, Trusted::RootOrSelf);
    if (!base)
        failWith(EPERM, "other users may change this directory");
    const UniqueFd program = openPrivate(base.get(), kProgram, S_IWGRP | S_IWOTH, missing);
    return openPrivate(program.get(), folder, S_IRWXG | S_IRWXO, missing);
}

/// Opens the directory of a daemon, and locks it. Returns nothing if another process holds the lock, or if another
/// process has removed the directory since.
UniqueFd lockDirectory(int folder, const char* name) {
    UniqueFd directory(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat opened {};
    struct stat named {};
    if (!directory || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(directory.get(), &opened) != 0 ||
        ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || Inode::of(opened) != Inode::of(named))
        return {};
    return directory;
}

/// Removes the directory of a daemon. The caller holds the lock on it.
void removeDirectory(int folder, const char* name, int directory) noexcept {
    struct stat status {};
    if (::fstat(directory, &status) != 0)
        return;
    (void)removeFile(directory, kSocket);
    (void)removeIfSame(folder, name, Inode::of(status));
}

/// Calls `use` for each directory in a folder.
void forEachDirectory(int folder, const std::function<void(const char* name)>& use) {
    const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                      [](DIR* open) { return open == nullptr ? 0 : ::closedir(open); });
    if (!entries) {
        if (copy >= 0)
            ::close(copy);
        return;
    }
    while (const dirent* const entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            use(entry->d_name);
    }
}

/// Removes the directories of daemons that were killed, except that of `kept`.
void removeUnused(int folder, const std::string& kept) {
    forEachDirectory(folder, [&](const char* name) {
        if (name == kept)
            return;
        if (const UniqueFd lock = lockDirectory(folder, name))
            removeDirectory(folder, name, lock.get());
    });
}

/// Connects to the socket in a daemon's directory. Waits while the queue of the listener is full.
std::optional<UniqueFd> connectIn(int directory, const WaitLimit& limit) {
    constexpr std::chrono::milliseconds kPause{20};
    const sockaddr_un address = addressIn(directory);
    const auto begin = std::chrono::steady_clock::now();
    UniqueFd socket = makePacketSocket(SOCK_NONBLOCK);
    while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        if (errno == ECONNREFUSED || errno == ENOENT)
            return std::nullopt;
        if (errno != EAGAIN && errno != EINTR)
            failErrno("connect to the daemon");
        if (limit.duration && std::chrono::steady_clock::now() - begin >= *limit.duration)
            failWith(ETIMEDOUT, "the daemon accepts no connection");
        pauseFor(kPause, limit.stop);
    }
    sys(::fcntl(socket.get(), F_SETFL, 0), "have the connection wait");
    return socket;
}

}  // namespace

WaitLimit waitLimitOf(const model::Options& options, StopRequest& stop) noexcept {
    if (options.timeout == std::chrono::seconds(0))
        return {stop, std::nullopt};
    return {stop, options.timeout};
}

WaitLimit longWaitLimitOf(const model::Options& options, StopRequest& stop) noexcept {
    return options.timeoutGiven ? waitLimitOf(options, stop) : WaitLimit{stop, std::nullopt};
}

std::vector<std::string> runtimeDirectories() {
    std::vector<std::string> directories;
    if (::geteuid() == 0)
        directories.emplace_back("/run");
    if (const char* const own = ::secure_getenv("XDG_RUNTIME_DIR"); own != nullptr && *own == '/')
        directories.emplace_back(own);
    return directories;
}

UniqueFd openRuntimeFolder(const std::string& directory, const char* folder) {
    try {
        return openFolder(directory, IfMissing::Fail, folder);
    } catch (const Error& error) {
        if (error.code() != ENOENT)
            throw;
        return {};
    }
}

RuntimeDirectory RuntimeDirectory::create(const std::string& directory, const char* folder, std::string name) {
    // Another process that looks for unused directories may lock or remove the new one first.
    constexpr int kAttempts = 100;
    constexpr std::chrono::milliseconds kPause{1};
    RuntimeDirectory made;
    made.folder = openFolder(directory, IfMissing::Create, folder);
    made.name = std::move(name);
    for (int attempt = 0; attempt < kAttempts && !made.lock; ++attempt) {
        if (attempt != 0)
            std::this_thread::sleep_for(kPause);
        makeDirectory(made.folder.get(), made.name, IfThere::Used);
        made.lock = lockDirectory(made.folder.get(), made.name.c_str());
    }
    return made;
}

std::vector<RuntimeDirectory> RuntimeDirectory::unlocked(int folder, const std::function<bool(int directory)>& wanted) {
    std::vector<RuntimeDirectory> found;
    forEachDirectory(folder, [&](const char* name) {
        const UniqueFd directory(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!directory || !wanted(directory.get()))
            return;
        if (UniqueFd lock = lockDirectory(folder, name))
            found.push_back({UniqueFd(::fcntl(folder, F_DUPFD_CLOEXEC, 0)), name, std::move(lock)});
    });
    return found;
}

void DaemonPlace::bind() {
    const sockaddr_un address = addressIn(lock_.get());
    (void)removeFile(lock_.get(), kSocket);  // socket of a daemon that was killed
    UniqueFd socket = makePacketSocket();
    // bind(2) creates the socket file with the mode of the socket's inode minus the umask.
    sys(::fchmod(socket.get(), S_IRUSR | S_IWUSR), "set the mode of a socket");
    sys(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind a socket");
    listener_ = std::move(socket);
}

std::vector<int> DaemonPlace::descriptors() const {
    std::vector<int> all{folder_.get(), lock_.get()};
    if (listener_)
        all.push_back(listener_.get());
    return all;
}

void DaemonPlace::remove() noexcept {
    listener_.reset();
    if (lock_)
        removeDirectory(folder_.get(), name_.c_str(), lock_.get());
    lock_.reset();
}

std::optional<UniqueFd> DaemonAddress::connect(const WaitLimit& limit) const {
    for (const std::string& directory : directories_) {
        UniqueFd place;
        try {
            const UniqueFd folder = openFolder(directory, IfMissing::Fail);
            place = openPrivate(folder.get(), name_.c_str(), S_IRWXG | S_IRWXO, IfMissing::Fail);
        } catch (const Error&) {
            continue;  // take() reports the error, if it matters
        }
        if (auto socket = connectIn(place.get(), limit))
            return socket;
    }
    return std::nullopt;
}

std::optional<DaemonPlace> DaemonAddress::take() const {
    Error error(ENOENT, "find a private directory for the socket of a daemon");
    for (const std::string& directory : directories_) {
        UniqueFd folder;
        try {
            folder = openFolder(directory, IfMissing::Create);
        } catch (const Error& problem) {
            error = problem;
            continue;
        }
        removeUnused(folder.get(), name_);
        // Another process may remove the directory before this one locks it.
        constexpr int kAttempts = 10;
        for (int attempt = 0; attempt < kAttempts; ++attempt) {
            makeDirectory(folder.get(), name_, IfThere::Used);
            if (UniqueFd lock = lockDirectory(folder.get(), name_.c_str()))
                return DaemonPlace(std::move(folder), name_, std::move(lock));
        }
        return std::nullopt;
    }
    error.addHint("criu needs a writable /run as root, and XDG_RUNTIME_DIR as another user");
    throw error;
}

std::pair<UniqueFd, UniqueFd> makeChannel() {
    int ends[2];
    sys(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "make a channel");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void limitBlocking(int socket, std::chrono::seconds duration) {
    const timeval limit{duration.count(), 0};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
        sys(::setsockopt(socket, SOL_SOCKET, option, &limit, sizeof(limit)), "limit the waits for a peer");
}

std::optional<UniqueFd> startDaemon(const DaemonAddress& address, std::string_view name,
                                    const std::function<void(DaemonPlace place, UniqueFd client)>& serve) {
    std::optional<DaemonPlace> place = address.take();
    if (!place)
        return std::nullopt;
    place->bind();
    auto [own, client] = makeChannel();
    createDaemon(name, [&serve, &place, &theirs = client] { serve(std::move(*place), std::move(theirs)); });
    return std::move(own);
}

}  // namespace criu::engine
