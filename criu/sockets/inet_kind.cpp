// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_kinds.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_tree.hpp"
#include "criu/model/options.hpp"
#include "criu/sockets/fresh_options.hpp"
#include "criu/sockets/inet_dump.hpp"
#include "criu/sockets/inet_open.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

class InetKindDump final : public files::FileKindDump {
public:
    InetKindDump(NetworkLock& lock, OwnerProgram program) : dump_(lock, std::move(program)) {}

    [[nodiscard]] bool claims(const files::OpenFd& file) const override {
        return file.socketFamily == AF_INET || file.socketFamily == AF_INET6;
    }

    ProtobufCMessage* prepare(const files::OpenFd& file, Arena& arena) override {
        return claims(file) ? &dump_.prepare(file, arena).base : nullptr;
    }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        dump_.add(file, entry, dump);
    }
    void finish(files::FileDump& dump) override { dump_.finish(dump); }
    void prepareKill() override { dump_.prepareKill(); }
    void end(files::FinalTaskState aftermath, Log&) noexcept override {
        if (aftermath == files::FinalTaskState::Run)
            dump_.release();
        else
            dump_.leaveLocked();
    }

private:
    InetDump dump_;
};

class InetKindRestore final : public files::FileKindRestore {
public:
    InetKindRestore(NetworkLock& lock, AddressUpdate update) : lock_(lock), update_(std::move(update)) {}

    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore& restore) override {
        if (entry.isk == nullptr)
            fail("file {} is said to be a socket but has no description of one", entry.id);
        auto file = std::make_shared<RestoredInet>(*entry.isk, restore.options(), update_, fresh_);
        mapped_ = mapped_ || (!restore.options().inetMap.empty() && !restore.options().tcpClose);
        for (const model::InetMapping* const mapping : {file->localMapping(), file->remoteMapping()})
            if (mapping != nullptr)
                used_.insert(mapping);
        if (file->isConnection())
            connections_.push_back(file);
        if (file->isConnection() && entry.isk->has_ns_id != 0)
            networks_[file.get()] = entry.isk->ns_id;
        if (file->listens()) {
            const auto [first, fresh] = listeners_.emplace(file->ends().local.port, file);
            if (!fresh) {
                first->second->setPortShared();
                file->setPortShared();
            }
        }
        return file;
    }

    void requireGiven(files::FileRestore& restore) const override {
        for (const model::InetMapping& mapping : restore.options().inetMap)
            if (!used_.contains(&mapping))
                restore.log().warn("--inet-map: no socket of the images has the address {}", addressesOf(mapping));
    }

    void beforeProcesses() override {
        requirePeers();
        std::vector<InetConnection> dumped;
        std::vector<InetConnection> restored;
        for (const auto& file : connections_) {
            const auto network = networks_.find(file.get());
            if (network != networks_.end() && !lock_.isOf(network->second))
                continue;
            dumped.push_back(file->dumpedEnds());
            restored.push_back(file->ends());
        }
        lock_.ensure(std::move(dumped), std::move(restored));
    }

    void finish(files::RestoredTree& tree) override {
        forEachInRepair(tree, [](const RestoredInet& file, int socket) { file.endRepair(socket); });
    }

    void open(files::RestoredTree& tree) override {
        lock_.unlock();
        forEachInRepair(tree, [](const RestoredInet& file, int socket) { file.probeWindow(socket); });
    }

private:
    /// Returns the addresses that a mapping replaces, for instance "10.0.0.0/8".
    static std::string addressesOf(const model::InetMapping& mapping) {
        InetEndpoint address;
        address.family = mapping.family;
        address.words = mapping.from;
        const unsigned whole = mapping.family == AF_INET ? 32 : 128;
        return mapping.bits == whole ? address.address() : fmt::format("{}/{}", address.address(), mapping.bits);
    }

    /// Throws Error if --inet-map replaces an address of a connection whose peer is outside of the tree: this peer
    /// still uses the old address. Accepts a peer whose address has a mapping of its own.
    void requirePeers() const {
        if (!mapped_)
            return;
        std::set<InetConnection> all;
        for (const auto& file : connections_)
            all.insert(file->ends().unmapped());
        for (const auto& file : connections_) {
            const InetConnection ends = file->ends().unmapped();
            if (file->ends() == file->dumpedEnds() || file->peerMoves() || all.contains({ends.remote, ends.local}))
                continue;
            Error error(0,
                        fmt::format("{} ({}) gets another address by --inet-map, but its peer is outside of the tree",
                                    file->name(), file->dumpedEnds().text()));
            error.addHint(
                "restore with --tcp-close, which closes connections; if the peer is restored, too, give its "
                "address an --inet-map of its own");
            throw error;
        }
    }

    /// Calls `work` for all connections that processes have in repair mode. Several threads do this, because a window
    /// probe takes long.
    template <typename Work>
    void forEachInRepair(files::RestoredTree& tree, const Work& work) {
        constexpr std::size_t kJob = 32;
        constexpr unsigned kMostThreads = 4;
        using Sockets = std::vector<std::pair<const RestoredInet*, UniqueFd>>;
        std::optional<ThreadPool> pool;
        if (connections_.size() > kJob)
            pool.emplace(std::min(availableCores(), kMostThreads));
        for (std::size_t at = 0; at < connections_.size();) {
            const auto some = std::make_shared<Sockets>();
            for (; some->size() < kJob && at < connections_.size(); ++at)
                if (const RestoredInet& file = *connections_[at]; file.isInRepair() && tree.isHeld(file.id()))
                    some->emplace_back(&file, tree.fetch(file.id()));
            const auto end = [some, work] {
                for (auto& [file, socket] : *some) {
                    work(*file, socket.get());
                    socket.reset();
                }
            };
            if (pool)
                pool->submit(end);
            else
                end();
            // Waits for the threads from time to time, so that not too many descriptors are open at the same time.
            if (pool && at / kJob % (std::size_t{4} * kMostThreads) == 0)
                pool->wait();
        }
        if (pool)
            pool->wait();
    }

    NetworkLock& lock_;
    const AddressUpdate update_;
    FreshOptions fresh_;
    std::set<const model::InetMapping*> used_;  ///< mappings of --inet-map that match a socket
    bool mapped_ = false;                       ///< true with --inet-map and without --tcp-close
    std::vector<std::shared_ptr<RestoredInet>> connections_;
    /// Ids of the network namespaces of the sockets in `connections_`. A socket without an id in the images has no
    /// element.
    std::map<const RestoredInet*, std::uint32_t> networks_;
    std::map<std::uint16_t, std::shared_ptr<RestoredInet>> listeners_;
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeInetDump(NetworkLock& lock, OwnerProgram program) {
    return std::make_unique<InetKindDump>(lock, std::move(program));
}

std::unique_ptr<files::FileKindRestore> makeInetRestore(NetworkLock& lock, AddressUpdate update) {
    return std::make_unique<InetKindRestore>(lock, std::move(update));
}

}  // namespace criu::sockets
