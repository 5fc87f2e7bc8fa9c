// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/clones/shared_pages_service.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/lazy/lazy_link.hpp"
#include "criu/engine/lazy/lazy_processes.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/peer_auth.hpp"
#include "criu/memory/clones/clone_memory.hpp"
#include "criu/memory/clones/clone_store.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/pages/page_source.hpp"

namespace criu::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = LazyMessage::Kind;

/// Interval at which the daemon checks whether processes have ended. The daemon has no pidfds of children that clones
/// create, so no event reports their end.
constexpr std::chrono::milliseconds kLook{1000};
/// Maximum number of threads that read content. The limit leaves cores for the clones.
constexpr unsigned kMostReaders = 4;
/// Maximum number of connected peers that haven't passed peer authentication.
constexpr int kMostWaiting = 64;

class SharedPagesService {
public:
    SharedPagesService(SharedPagesStart start, UniqueFd watcher)
        : start_(std::move(start)),
          store_(start_.images.tree.tasks.size()),
          watcher_(std::move(watcher)),
          events_(sys(::epoll_create1(EPOLL_CLOEXEC), "make an epoll")) {}

    void run() {
        listenAsCurrentProcess(start_.place.listener(), kMostWaiting);
        addContent();
        watch(start_.place.listener());
        watch(watcher_.fd());
        acceptClient(std::move(start_.client));
        while (!clients_.empty() || !memories_.empty()) {
            std::array<epoll_event, 64> events{};
            const int count = ::epoll_wait(events_.get(), events.data(), events.size(), patience());
            if (count < 0 && errno != EINTR)
                failErrno("wait for events of memory");
            for (int i = 0; i < count; ++i)
                handle(events[static_cast<std::size_t>(i)].data.fd);
            serveWaiting();
        }
    }

    /// Kills the clones and their descendants.
    void endClones() noexcept { processes_.end(start_.log); }

private:
    /// Connected peer that hasn't passed peer authentication.
    struct UnauthenticatedPeer {
        UniqueFd socket;
        std::unique_ptr<PeerAuthentication> peerAuth;
    };
    struct Client {
        LazyLink link;
        UniqueFd memory;                 ///< userfaultfd of the process that the next message names
        std::vector<LazyProcess> ready;  ///< processes of this peer that the daemon serves after the message Begin
    };

    void watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        sys(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event), "watch fd {}", fd);
    }

    /// Removes a descriptor from the epoll instance. close(2) alone wouldn't remove it, because the watchdog process
    /// has a copy of the descriptor.
    void unwatch(int fd) noexcept { (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd, nullptr); }

    void addContent() {
        const RestoreImages& images = start_.images;
        for (std::size_t number = 0; number < images.tree.tasks.size(); ++number) {
            const model::Task& task = *images.tree.tasks[number];
            if (!task.alive())
                continue;
            const memory::PageSource& source = *images.pages.at(task.pid);
            const memory::LazyAreas areas = cloneAreasOf(task, source);
            if (areas.mappings().empty())
                continue;
            auto content =
                std::make_shared<const memory::LazyContent>(source, memory::MemoryObject::process(task.pid), nullptr);
            content->open();
            store_.add(number, source, areas, std::move(content));
            numbers_.emplace(task.pid, number);
        }
        store_.seal();
        start_.supply.reset();
    }

    void acceptClient(UniqueFd socket) {
        const int fd = socket.get();
        Client client{LazyLink(std::move(socket)), {}, {}};
        client.link.send({Kind::File}, store_.fd());
        watch(fd);
        clients_.emplace(fd, std::move(client));
    }

    void accept() {
        UniqueFd socket(::accept4(start_.place.listener(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket)
            return;  // the peer has disconnected
        if (unauthenticated_.size() >= kMostWaiting)
            // The kernel removes the socket from epoll by close(2), because no other process has a copy of the socket.
            unauthenticated_.erase(unauthenticated_.begin());
        const int fd = socket.get();
        try {
            auto peerAuth = std::make_unique<PeerAuthentication>(fd);
            watch(fd);
            unauthenticated_.emplace(fd, UnauthenticatedPeer{std::move(socket), std::move(peerAuth)});
        } catch (const Error& error) {
            start_.log.warn("A restore isn't served: {}", error.what());
        }
    }

    void authenticate(UnauthenticatedPeer& peer) {
        const int fd = peer.socket.get();
        try {
            if (!peer.peerAuth->take())
                return;
            unwatch(fd);
            acceptClient(std::move(peer.socket));
        } catch (const Error& error) {
            start_.log.warn("A restore isn't served: {}", error.what());
        }
        unauthenticated_.erase(fd);
    }

    void handle(int fd) {
        if (fd == watcher_.fd())
            fail("the process that watches over the clones has ended");
        if (fd == start_.place.listener())
            return accept();
        if (const auto peer = unauthenticated_.find(fd); peer != unauthenticated_.end())
            return authenticate(peer->second);
        if (const auto client = clients_.find(fd); client != clients_.end()) {
            bool stays = false;
            try {
                stays = handleMessage(client->second);
            } catch (const Error& error) {
                start_.log.warn("A restore isn't served any more: {}", error.what());
            }
            if (!stays) {
                clients_.erase(client);
                startReading();
            }
            return;
        }
        if (const auto memory = memories_.find(fd); memory != memories_.end())
            return serve(*memory->second);
        dropEnded();  // `fd` is a pidfd
    }

    /// Handles one message. Returns false if the restore has disconnected or has sent its last message.
    bool handleMessage(Client& client) {
        UniqueFd fd;
        const auto message = client.link.receive(fd, start_.stop);
        if (!message)
            return false;
        switch (message->kind) {
            case Kind::Memory:
                if (!fd || !kernel::isUserfaultfd(fd.get()))
                    fail("it sends something else than a userfaultfd");
                client.memory = std::move(fd);
                return true;
            case Kind::Process:
                if (!fd || !client.memory || !numbers_.contains(TreePid(message->inside)))
                    fail("it sends a process out of turn");
                client.ready.push_back({TreePid(message->inside), std::move(client.memory),
                                        kernel::PidFd(std::move(fd), message->outside)});
                return true;
            case Kind::Begin:
                for (LazyProcess& process : client.ready)
                    begin(process);
                client.ready.clear();
                client.link.send({Kind::Ready});
                return true;
            default:
                return false;
        }
    }

    void begin(LazyProcess& process) {
        LazyMessage message{Kind::Memory, process.inside.value, process.process.pid()};
        watcher_.send(message, process.memory.get());
        message.kind = Kind::Process;
        watcher_.send(message, process.process.fd());
        const std::string name = fmt::format("process {} of {}", process.inside, process.process.pid());
        add(std::make_unique<memory::CloneMemory>(name, std::move(process.memory),
                                                  store_.pagesOf(numbers_.at(process.inside)), store_));
        watch(process.process.fd());
        processes_.add({process.inside, UniqueFd(), std::move(process.process)});
    }

    void add(std::unique_ptr<memory::CloneMemory> memory) {
        const int fd = memory->fd();
        watch(fd);
        ahead_.push_back(fd);
        memories_.insert_or_assign(fd, std::move(memory));
    }

    void serve(memory::CloneMemory& memory) {
        for (auto& child : memory.serve())
            add(std::move(child));
        if (memory.waits())
            waiting_.push_back(memory.fd());
    }

    /// Starts threads that read the content of all pages. Call it only after a restore has ended, because the restore
    /// needs the processor cores.
    void startReading() {
        if (readers_)
            return;
        const unsigned threads = std::clamp(availableCores() / 2, 1U, kMostReaders);
        reading_ = threads;
        readers_.emplace(threads);
        for (unsigned i = 0; i < threads; ++i)
            readers_->submit([this] {
                struct Counter {
                    std::atomic<unsigned>& count;
                    ~Counter() { --count; }
                } const counter{reading_};
                while (store_.fillNext())
                    ;
            });
    }

    [[nodiscard]] int patience() const {
        if (complete_ && !ahead_.empty())
            return 0;
        if (!waiting_.empty())
            return 1;
        constexpr int kPollWhileReading = 20;
        return readers_ && !complete_ ? kPollWhileReading : static_cast<int>(kLook.count());
    }

    void serveWaiting() {
        for (const int fd : std::exchange(waiting_, {}))
            if (const auto memory = memories_.find(fd); memory != memories_.end())
                serve(*memory->second);
        if (readers_ && !complete_ && reading_ == 0) {
            readers_->wait();  // throws the failure of a reader
            store_.complete();
            complete_ = true;
            start_.log.info("The clones' file has all content: the images aren't needed any more");
        }
        mapAhead();
        if (Clock::now() - looked_ >= kLook) {
            looked_ = Clock::now();
            dropEnded();
        }
    }

    /// Maps pages before clones fault on them. Runs while the daemon has no events to handle.
    void mapAhead() {
        if (!complete_ || ahead_.empty())
            return;
        const auto memory = memories_.find(ahead_.back());
        if (memory == memories_.end() || !memory->second->mapAhead())
            ahead_.pop_back();
    }

    void dropEnded() {
        std::erase_if(processes_.all(), [this](const LazyProcess& process) {
            if (!process.process.waitExit())
                return false;
            unwatch(process.process.fd());
            return true;
        });
        std::erase_if(memories_, [this](const auto& entry) {
            if (!entry.second->isGone())
                return false;
            unwatch(entry.first);
            start_.log.debug("{} has ended", entry.second->name());
            std::erase(ahead_, entry.first);
            std::erase(waiting_, entry.first);
            return true;
        });
    }

    SharedPagesStart start_;
    memory::CloneStore store_;
    std::unordered_map<TreePid, std::size_t> numbers_;
    LazyLink watcher_;
    UniqueFd events_;                                     ///< epoll(7)
    std::map<int, UnauthenticatedPeer> unauthenticated_;  ///< peers; the key is the descriptor of the socket
    std::unordered_map<int, Client> clients_;
    /// Memory of the clones; the key is the userfaultfd.
    std::unordered_map<int, std::unique_ptr<memory::CloneMemory>> memories_;
    LazyProcesses processes_;
    std::vector<int> ahead_;    ///< userfaultfds of memory in which mapAhead() maps pages before their first fault
    std::vector<int> waiting_;  ///< userfaultfds with faults that can't be resolved yet
    std::atomic<unsigned> reading_{0};
    std::optional<ThreadPool> readers_;
    bool complete_ = false;
    Clock::time_point looked_ = Clock::now();
};

}  // namespace

int serveSharedPages(SharedPagesStart start, UniqueFd watcher) {
    Log& log = start.log;
    std::unique_ptr<SharedPagesService> service;
    try {
        service = std::make_unique<SharedPagesService>(std::move(start), std::move(watcher));
        service->run();
        log.info("The last clone has ended");
        return 0;
    } catch (const std::exception& error) {
        log.failure(error);
        if (service)
            service->endClones();
    }
    return 1;
}

}  // namespace criu::engine
