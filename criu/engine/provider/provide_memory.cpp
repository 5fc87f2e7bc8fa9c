// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/local_channel.hpp"
#include "criu/engine/pageserver/server_start.hpp"
#include "criu/engine/provider/served_memory.hpp"
#include "criu/engine/restore/provider_socket.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/names/socket_name.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/model/options.hpp"
#include "images/extmem.hpp"

namespace criu::engine {
namespace {

constexpr std::size_t kLargestPacket = 8192;
/// Maximum time of one send to a restore that doesn't read.
constexpr std::chrono::seconds kBlocking{60};
/// Maximum number of restores at the same time, because each has a thread here.
constexpr std::size_t kMostRestores = 64;

/// Everything that restores may ask for.
struct Supply {
    const ImageDir& directory;
    ServedMemory& memory;
    StopRequest& stop;
    Log& log;
};

/// Conversation with one restore.
class Conversation {
public:
    Conversation(const Supply& supply, UniqueFd socket) : supply_(supply), socket_(std::move(socket)) {
        limitBlocking(socket_.get(), kBlocking);
    }

    /// Answers requests until the restore closes its socket. Throws Error, also for a packet that is no request.
    void run() {
        std::vector<std::byte> packet(kLargestPacket + 1);
        for (;;) {
            (void)waitReady(socket_.get(), POLLIN, supply_.stop, std::nullopt);
            const kernel::ReceivedMessage got = kernel::receiveMessage(socket_.get(), packet);
            if (got.size == 0)
                return;
            if (got.size > kLargestPacket)
                failWith(EMSGSIZE, "a request has more than {} bytes", kLargestPacket);
            answer(*decode<ExtmemReq>(std::span<const std::byte>(packet).first(got.size)));
        }
    }

private:
    void answer(const ExtmemReq& request) {
        UniqueFd file;
        int status = 0;
        try {
            file = fileFor(request);
            status = file || isBare(request) ? 0 : ENOTSUP;
        } catch (const Error& error) {
            supply_.stop.throwIfRequested();
            supply_.log.warn("A restore gets an error: {}", error.what());
            status = error.code() != 0 ? error.code() : EIO;
        }
        ExtmemResp response = EXTMEM_RESP__INIT;
        response.status = -status;
        std::array<std::byte, kLargestPacket> bytes{};
        const std::size_t size =
            ::protobuf_c_message_pack(&response.base, reinterpret_cast<std::uint8_t*>(bytes.data()));
        kernel::sendMessage(socket_.get(), std::span<const std::byte>(bytes).first(size), file ? file.get() : -1);
    }

    /// Returns true for requests whose response carries no file.
    static bool isBare(const ExtmemReq& request) noexcept {
        return request.op == EXTMEM_OP__EXTMEM_INIT || request.op == EXTMEM_OP__EXTMEM_WAIT_READY ||
               request.op == EXTMEM_OP__EXTMEM_COMMIT || request.op == EXTMEM_OP__EXTMEM_ABORT;
    }

    /// Returns the file of the response. Returns an invalid descriptor if the response has none, or if the restore must
    /// use its own images. Throws Error.
    UniqueFd fileFor(const ExtmemReq& request) {
        switch (request.op) {
            case EXTMEM_OP__EXTMEM_OPEN_IMAGE:
                if (request.open_image == nullptr)
                    break;
                return image(request.open_image->name);
            case EXTMEM_OP__EXTMEM_GET_VMA:
                if (request.get_vma == nullptr)
                    break;
                return privateMemory(*request.get_vma);
            case EXTMEM_OP__EXTMEM_GET_SHARED:
                if (request.get_shared == nullptr)
                    break;
                return promise(supply_.memory.sharedMemory(request.get_shared->shmid, request.get_shared->length));
            case EXTMEM_OP__EXTMEM_WAIT_READY:
                for (const auto& file : std::exchange(promised_, {}))
                    file->fill(supply_.stop);
                return {};
            case EXTMEM_OP__EXTMEM_COMMIT:
                supply_.log.info("A restore has succeeded");
                return {};
            case EXTMEM_OP__EXTMEM_ABORT:
                supply_.log.info("A restore has failed");
                return {};
            default:
                return {};
        }
        failWith(EINVAL, "request {} lacks its fields", static_cast<int>(request.op));
    }

    [[nodiscard]] UniqueFd image(const std::string& name) const {
        if (name.empty() || name.find('/') != std::string::npos)
            failWith(EINVAL, "the name of an image can't be '{}'", name);
        // O_NONBLOCK: open(2) would wait for the writer of a fifo.
        UniqueFd file(::openat(supply_.directory.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        struct stat status {};
        if (!file && errno != ENOENT && errno != ELOOP)
            failErrno("open the image {}", name);
        if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
            return {};
        return file;
    }

    UniqueFd privateMemory(const ExtmemGetVma& wanted) {
        if (wanted.pid > INT_MAX || wanted.length > UINT64_MAX - wanted.vaddr)
            failWith(EINVAL, "a request for {:#x} bytes at {:#x} of pid {}", wanted.length, wanted.vaddr, wanted.pid);
        return promise(supply_.memory.privateMemory(TreePid(static_cast<pid_t>(wanted.pid)),
                                                    {wanted.vaddr, wanted.vaddr + wanted.length}));
    }

    /// Keeps a file until WAIT_READY, which fills it.
    UniqueFd promise(std::shared_ptr<ServedFile> file) {
        if (!file)
            return {};
        UniqueFd result = file->forRestore();
        promised_.push_back(std::move(file));
        return result;
    }

    const Supply& supply_;
    UniqueFd socket_;
    std::vector<std::shared_ptr<ServedFile>> promised_;
};

/// Serves one restore, and logs a failure.
void converse(const Supply& supply, UniqueFd socket) {
    try {
        Conversation(supply, std::move(socket)).run();
        supply.log.info("A restore has closed its connection");
    } catch (const std::exception& error) {
        if (!supply.stop.requested())
            supply.log.warn("A restore isn't served any more: {}", error.what());
    }
}

/// Serves restores that connect, each in a thread, until the user stops criu.
class Restores {
public:
    explicit Restores(const Supply& supply) : supply_(supply) {}
    ~Restores() {
        for (Served& each : served_)
            each.thread.join();
    }
    Restores(const Restores&) = delete;
    Restores& operator=(const Restores&) = delete;

    void accept(const UniqueFd& listener) {
        for (;;) {
            try {
                (void)waitReady(listener.get(), POLLIN, supply_.stop, std::nullopt);
            } catch (const Error&) {
                return;
            }
            UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            joinEnded();
            if (!client) {
                supply_.log.warn("A restore can't connect: {}", std::strerror(errno));
                constexpr std::chrono::milliseconds kPause{100};
                std::this_thread::sleep_for(kPause);
            } else if (served_.size() >= kMostRestores) {
                supply_.log.warn("A restore isn't served: {} restores are connected", served_.size());
            } else {
                start(std::move(client));
            }
        }
    }

private:
    struct Served {
        std::thread thread;
        std::atomic<bool> ended = false;
    };

    void start(UniqueFd client) {
        supply_.log.info("A restore has connected");
        Served& each = served_.emplace_back();
        each.thread = std::thread([this, &each, socket = std::move(client)]() mutable {
            converse(supply_, std::move(socket));
            each.ended = true;
        });
    }

    void joinEnded() {
        for (auto each = served_.begin(); each != served_.end();) {
            if (!each->ended) {
                ++each;
                continue;
            }
            each->thread.join();
            each = served_.erase(each);
        }
    }

    const Supply& supply_;
    std::list<Served> served_;
};

/// Serves restores until the passed socket is closed, or until the user stops criu.
void serve(Run& run, ImageDir& images, const UniqueFd& listener, UniqueFd passed) {
    ::signal(SIGPIPE, SIG_IGN);
    kernel::raiseFileLimit();  // criu has one descriptor for each mapping
    const memory::FilePageSources pages(images, run.options.checksum.value_or(true));
    const RestoreImages content = readImages(images, pages, run.log);
    if (images.parent() != nullptr)
        run.log.warn("These images need parent images, which a restore takes from its own images directory");
    ServedMemory memory(content, images, pages);
    const Supply supply{images, memory, run.stop, run.log};
    announceReady(run);
    run.log.info("The memory provider is ready");
    if (passed)
        converse(supply, std::move(passed));
    else
        Restores(supply).accept(listener);
}

/// Socket at which restores connect. The destructor removes its name.
class Listener {
public:
    Listener(const std::string& path, Log& log) : socket(listenAt(path)), name_(path), log_(log) {}
    ~Listener() {
        if (!left_)
            name_.remove(log_);
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    /// Leaves the name to another process.
    void leave() noexcept { left_ = true; }

    const UniqueFd socket;

private:
    SocketName name_;
    Log& log_;
    bool left_ = false;
};

}  // namespace

int provideMemory(Run& run) {
    IncomingImages incoming = openIncoming(run);
    UniqueFd passed = passedProviderSocket(run.options);
    std::optional<Listener> listener;
    if (!passed)
        listener.emplace(*run.options.providerSocket, run.log);
    const UniqueFd none;
    const auto work = [&] { serve(run, incoming.images, listener ? listener->socket : none, std::move(passed)); };
    if (!run.options.detached) {
        work();
        return 0;
    }
    if (daemonize(run, "memory provider")) {
        if (listener)
            listener->leave();
        return 0;
    }
    int status = 1;
    try {
        work();
        status = 0;
    } catch (const std::exception& error) {
        run.log.failure(error);
    }
    listener.reset();
    ::_exit(status);
}

}  // namespace criu::engine
