// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/memory_provider.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/base/process_lock.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/local_channel.hpp"
#include "criu/engine/restore/provider_socket.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/names/socket_name.hpp"
#include "criu/kernel/pass_fd.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/provided_pages.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "images/extmem.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

constexpr std::size_t kLargestPacket = 8192;
/// Limit of WAIT_READY, in which the provider copies memory, unless the user has given --timeout.
constexpr std::chrono::minutes kLongestCopy{10};

ExtmemReq requestOf(ExtmemOp op) {
    ExtmemReq request = EXTMEM_REQ__INIT;
    request.op = op;
    return request;
}

WaitLimit readyLimitOf(const model::Options& options, StopRequest& stop) noexcept {
    return options.timeoutGiven ? waitLimitOf(options, stop) : WaitLimit{stop, kLongestCopy};
}

constexpr std::array kNames{"?", "INIT", "OPEN_IMAGE", "GET_VMA", "GET_SHARED", "COMMIT", "ABORT", "WAIT_READY"};

/// Throws Error unless `file` is a regular file, as memfds are.
struct stat statusOfRegular(const UniqueFd& file, std::string_view what) {
    struct stat status {};
    sys(::fstat(file.get(), &status), "look at the provider's {}", what);
    if (!S_ISREG(status.st_mode))
        failWith(EBADMSG, "the provider's {} isn't a regular file", what);
    return status;
}

enum class Reply { Bare, File };

struct Answer {
    int status = 0;  ///< positive errno
    UniqueFd fd;
};

}  // namespace

struct MemoryProvider::Impl {
    /// Sends a request if the socket has room, and never waits.
    void send(const ExtmemReq& request) const;
    Answer ask(const ExtmemReq& request, Reply reply) const;
    /// Returns an invalid descriptor if the provider declines. Throws Error for another status.
    [[nodiscard]] UniqueFd askForFile(const ExtmemReq& request, std::string_view what) const;

    /// Waits with a limit until the socket is ready.
    void await(short events, const WaitLimit& limit, const char* aim) const;

    UniqueFd socket;
    WaitLimit limit;
    WaitLimit longLimit;  ///< limit of WAIT_READY
    bool mapsPages;       ///< --map-pages
    Log& log;
    pid_t owner = ::getpid();
    bool ended = false;
    ProcessLock turn{};
    std::map<TreePid, std::vector<memory::ProvidedFile>> memory{};
};

std::unique_ptr<MemoryProvider> MemoryProvider::connect(const model::Options& options, StopRequest& stop, Log& log) {
    UniqueFd socket = options.providerSocket ? connectTo(*options.providerSocket) : passedProviderSocket(options);
    if (!socket)
        return nullptr;
    auto provider = std::make_unique<MemoryProvider>(std::move(socket), options, stop, log);
    const int status = provider->impl_->ask(requestOf(EXTMEM_OP__EXTMEM_INIT), Reply::Bare).status;
    if (status != 0)
        provider->impl_->ended = true;  // a provider that hasn't begun gets no ABORT
    if (status == ENOTSUP) {
        log.warn("The external memory provider declines: the images of the directory are used");
        return nullptr;
    }
    if (status != 0)
        failWith(status, "the external memory provider refuses to begin");
    log.info("An external memory provider takes part");
    return provider;
}

MemoryProvider::MemoryProvider(UniqueFd socket, const model::Options& options, StopRequest& stop, Log& log)
    : impl_(new Impl{std::move(socket), waitLimitOf(options, stop), readyLimitOf(options, stop), options.mapPages,
                     log}) {}

void MemoryProvider::share(kernel::FdStore& store) {
    impl_->socket = store.inherit(kernel::FdKey::Given, std::move(impl_->socket));
}

MemoryProvider::~MemoryProvider() {
    // A forked process has a copy of this object.
    if (impl_->ended || ::getpid() != impl_->owner)
        return;
    try {
        // Doesn't wait for the reply, because the provider may be the cause of the failure.
        impl_->send(requestOf(EXTMEM_OP__EXTMEM_ABORT));
    } catch (const std::exception& error) {
        impl_->log.warn("The external memory provider doesn't learn of the failure: {}", error.what());
    }
}

void MemoryProvider::Impl::send(const ExtmemReq& request) const {
    std::vector<std::uint8_t> bytes(encodedSize(request.base));
    if (bytes.size() > kLargestPacket)
        failWith(EMSGSIZE, "the request has {} bytes", bytes.size());
    ::protobuf_c_message_pack(&request.base, bytes.data());
    sys(::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL), "send a request");
}

Answer MemoryProvider::Impl::ask(const ExtmemReq& request, Reply reply) const {
    const ErrorContext context([&] { return fmt::format("external memory provider, {}", kNames.at(request.op)); });
    const WaitLimit& longest = request.op == EXTMEM_OP__EXTMEM_WAIT_READY ? longLimit : limit;
    kernel::ReceivedMessage got;
    std::vector<std::byte> packet(kLargestPacket + 1);
    {
        const ProcessLock::Held held(turn);
        await(POLLOUT, longest, "read its socket");
        send(request);
        await(POLLIN, longest, "answer");
        got = kernel::takeMessage(socket.get(), packet);
    }
    if (got.size == 0)
        failWith(ECONNRESET, "the provider has closed its socket");
    if (got.size > kLargestPacket || got.lost)
        failWith(EBADMSG, "the reply is too large, or has several descriptors");
    const auto answer = decode<ExtmemResp>(std::span<const std::byte>(packet).first(got.size));
    const bool wantsFile = reply == Reply::File && answer->status == 0;
    if (wantsFile != static_cast<bool>(got.fd))
        failWith(EBADMSG, "the reply {} a descriptor", wantsFile ? "lacks" : "has");
    if (answer->status > 0 || answer->status < -4095)
        failWith(EBADMSG, "the reply has status {}, which is no negative errno", answer->status);
    return {-answer->status, std::move(got.fd)};
}

void MemoryProvider::Impl::await(short events, const WaitLimit& longest, const char* aim) const {
    if (!criu::waitReady(socket.get(), events, longest))
        failWith(ETIMEDOUT, "the provider doesn't {} for {} s (--timeout)", aim,
                 std::chrono::duration_cast<std::chrono::seconds>(*longest.duration).count());
}

UniqueFd MemoryProvider::Impl::askForFile(const ExtmemReq& request, std::string_view what) const {
    Answer answer = ask(request, Reply::File);
    if (answer.status != 0 && answer.status != ENOTSUP)
        failWith(answer.status, "the external memory provider has no {}", what);
    return std::move(answer.fd);
}

UniqueFd MemoryProvider::open(const std::string& name, int flags) const {
    if ((flags & O_ACCMODE) != O_RDONLY)
        return {};
    std::string copy = name;
    ExtmemOpenImage image = EXTMEM_OPEN_IMAGE__INIT;
    image.name = copy.data();
    image.flags = static_cast<std::uint32_t>(flags);
    ExtmemReq request = requestOf(EXTMEM_OP__EXTMEM_OPEN_IMAGE);
    request.open_image = &image;
    UniqueFd file = impl_->askForFile(request, name);
    if (file)
        statusOfRegular(file, name);
    return file;
}

int MemoryProvider::descriptor() const noexcept {
    return impl_->socket.get();
}

void MemoryProvider::askForMemory(const RestoreImages& images, kernel::FdStore& store) {
    if (impl_->mapsPages)
        return;
    std::size_t files = 0;
    for (const auto& task : images.tree.tasks) {
        if (!task->alive() || !task->mm)
            continue;
        const auto vmas = list((*task->mm)->vmas, (*task->mm)->n_vmas);
        for (std::size_t number = 0; number < vmas.size(); ++number) {
            const VmaEntry& vma = *vmas[number];
            if (!memory::canBeLazy(vma) || !memory::hasPrivatePages(vma) || is(vma, memory::VmaStatus::Guard))
                continue;
            ExtmemGetVma wanted = EXTMEM_GET_VMA__INIT;
            wanted.pid = static_cast<std::uint32_t>(task->pid.value);
            wanted.vma_id = static_cast<std::uint32_t>(number);
            wanted.vaddr = vma.start;
            wanted.length = vma.end - vma.start;
            ExtmemReq request = requestOf(EXTMEM_OP__EXTMEM_GET_VMA);
            request.get_vma = &wanted;
            const std::string what = fmt::format("memory at {:#x} of pid {}", vma.start, task->pid);
            const UniqueFd file = impl_->askForFile(request, what);
            if (!file)
                continue;
            if (const auto size = static_cast<std::uint64_t>(statusOfRegular(file, what).st_size); size < wanted.length)
                failWith(EBADMSG, "the provider's {} has {} bytes instead of {}", what, size, wanted.length);
            if (files++ == 0)
                store.openQueue();
            impl_->memory[task->pid].push_back({{vma.start, vma.end}, store.add(file.get())});
        }
    }
    impl_->log.info("The external memory provider has {} private mappings", files);
}

void MemoryProvider::awaitMemory(RestoreImages& images, const kernel::FdStore& store) {
    if (const int status = impl_->ask(requestOf(EXTMEM_OP__EXTMEM_WAIT_READY), Reply::Bare).status; status != 0)
        failWith(status == ENOTSUP ? EPROTO : status, "the external memory provider hasn't filled the memory");
    for (const auto& [pid, files] : impl_->memory) {
        const ErrorContext context([pid = pid] { return fmt::format("external memory provider, pid {}", pid); });
        auto& pages = images.pages.at(pid);
        pages = memory::withProvided(std::move(pages), files, store);
    }
}

UniqueFd MemoryProvider::shared(std::uint64_t shmid, std::uint64_t size) const {
    ExtmemGetShared wanted = EXTMEM_GET_SHARED__INIT;
    wanted.shmid = shmid;
    wanted.length = size;
    ExtmemReq request = requestOf(EXTMEM_OP__EXTMEM_GET_SHARED);
    request.get_shared = &wanted;
    const std::string what = fmt::format("shared memory {}", shmid);
    UniqueFd file = impl_->askForFile(request, what);
    if (!file)
        return file;
    // Programs see the size of a memfd.
    if (const auto present = static_cast<std::uint64_t>(statusOfRegular(file, what).st_size); present != size)
        failWith(EBADMSG, "the provider's {} has {} bytes instead of {}", what, present, size);
    if ((sys(::fcntl(file.get(), F_GETFL), "look at the provider's {}", what) & O_ACCMODE) != O_RDWR)
        failWith(EBADMSG, "the provider's {} isn't open for reading and writing", what);
    return file;
}

void MemoryProvider::commit() {
    impl_->ended = true;
    if (const int status = impl_->ask(requestOf(EXTMEM_OP__EXTMEM_COMMIT), Reply::Bare).status; status != 0)
        failWith(status, "the external memory provider doesn't accept the restore");
}

}  // namespace criu::engine
