// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/frozen.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/cgroup/properties.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/memory_tracking.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/pageserver/page_server_connection.hpp"
#include "criu/engine/predump/wp_tracker_daemon.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/remote_page_sinks.hpp"
#include "criu/model/options.hpp"
#include "criu/options/option_values.hpp"

namespace criu::engine {
namespace {

constexpr std::uint32_t kFirstPagesFile = 1;

/// Returns how the dump distributes pages over several pages files. Images that may become parent images have only
/// pages of memory, because a later dump compares nothing else with them.
memory::Striping stripingFor(FrozenPhase::Purpose purpose, const model::Options& options) {
    if (options.compat)
        return {};
    const bool streamed = options.stream || options.streamTo;  // a stream transfers one pages file
    memory::Striping striping = streamed             ? memory::Striping::asWished(1)
                                : options.pagesFiles ? memory::Striping::asWished(*options.pagesFiles)
                                                     : memory::Striping::usual();
    striping.extended = purpose != FrozenPhase::Purpose::PreDump && !options.trackMemory;
    return striping;
}

std::unique_ptr<memory::PageSinks> openPages(FrozenPhase::Purpose purpose, const Run& run,
                                             const OutgoingImages& outgoing) {
    const model::Options& options = run.options;
    if (!options.pageServer || purpose == FrozenPhase::Purpose::DryRun)
        return std::make_unique<memory::FilePageSinks>(
            outgoing.images, stripingFor(purpose, options), kFirstPagesFile,
            memory::Compression::with(options.compress, options.compressLevel, options.compressBlock));
    memory::PageConnection server = connectToPageServer(options, run.stop);
    if (outgoing.serverKeys)
        sendKeys(server, *outgoing.serverKeys);
    if (options.connections == 1)
        return std::make_unique<memory::RemotePageSinks>(std::move(server), options.pageServerSocket >= 0);
    std::uint64_t files = stripingFor(purpose, options).files;
    if (files > 1 && !options.pagesFiles)
        // Lets the page server choose the number of files, because its machine may have fewer processors than this one.
        files = memory::kFilesAsPaysOff;
    std::vector<memory::PageConnection> streams = connectStreams(server, files, options, run.stop);
    return std::make_unique<memory::RemotePageSinks>(std::move(server), std::move(streams));
}

/// Starts the page server for --lazy-pages before the freeze, so that a failure needs no rollback.
std::optional<ListeningPageServer> listenForLazy(FrozenPhase::Purpose purpose, const model::Options& options,
                                                 Log& log) {
    if (purpose != FrozenPhase::Purpose::Dump || !options.lazyPages)
        return std::nullopt;
    if (options.pageServerSocket >= 0)
        return ListeningPageServer();
    ListeningPageServer server = listenForPages(options);
    log.info("Pages can be asked for at port {}", server.port);
    return server;
}

MemoryTracking::Use useOf(FrozenPhase::Purpose purpose, const model::Options& options) noexcept {
    if (purpose == FrozenPhase::Purpose::PreDump)
        return MemoryTracking::Use::Continued;
    if (!options.trackMemory || purpose == FrozenPhase::Purpose::DryRun)
        return MemoryTracking::Use::Ignored;
    return options.finalState == model::FinalState::Default ? MemoryTracking::Use::ForDump
                                                            : MemoryTracking::Use::Continued;
}

/// Returns the link to the WP tracker daemon; null if this dump doesn't use tracking.
WpTrackerLink* trackerLinkFor(FrozenPhase::Purpose purpose, const model::Options& options,
                              std::optional<WpTrackerLink>& link) noexcept {
    return link && useOf(purpose, options) != MemoryTracking::Use::Ignored ? &*link : nullptr;
}

}  // namespace

std::vector<HostPid> runningTree(HostPid root, std::size_t most) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    std::vector<HostPid> tree{root};
    for (std::size_t i = 0; i < tree.size() && tree.size() < most; ++i) {
        try {
            const kernel::ProcPid process = proc.open(tree[i].value);
            for (const pid_t thread : kernel::readThreads(process))
                for (const pid_t child : kernel::readChildren(process, thread, buffer))
                    if (std::find(tree.begin(), tree.end(), HostPid(child)) == tree.end())
                        tree.emplace_back(child);
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
        }
    }
    return tree;
}

/// Removes the images of a client's dump that failed. Otherwise the directory would keep content of files and processes
/// after criu has refused the dump.
class ImagesOfClient {
public:
    ImagesOfClient(const ImageDir& images, Run& run) noexcept : images_(images), run_(run) {}
    ~ImagesOfClient() {
        if (stay_ || run_.client.isOwner)
            return;
        try {
            removeOldImages(images_);
        } catch (const std::exception& error) {
            run_.log.warn("Images of the failed dump are left: {}", error.what());
        }
    }
    ImagesOfClient(const ImagesOfClient&) = delete;
    ImagesOfClient& operator=(const ImagesOfClient&) = delete;

    void keep() noexcept { stay_ = true; }

private:
    const ImageDir& images_;
    Run& run_;
    bool stay_ = false;
};

/// State of the phase. The constructors run in the order of the members.
struct FrozenPhase::Impl {
    Impl(Run& run, Purpose purpose, std::optional<WpTrackerLink> link)
        : cgroupProperties(cgroup::readProperties(run.options)),
          outgoing(openOutgoing(run, trackerLinkFor(purpose, run.options, link))),
          ofClient(images, run),
          pages(openPages(purpose, run, outgoing)),
          lazyPageServer(listenForLazy(purpose, run.options, run.log)),
          tracking(std::move(link), useOf(purpose, run.options), images, run.log),
          tree(run.options.timeout, run.stop, run.log),
          devices(run.devices, run.options, run.log, images, *pages, run.stop, run.refusals) {}

    cgroup::PropertyTable cgroupProperties;
    OutgoingImages outgoing;
    ImageDir& images = outgoing.images;
    ImagesOfClient ofClient;  // destroyed after `tree`, whose destructor resumes the processes
    std::unique_ptr<memory::PageSinks> pages;
    std::optional<ListeningPageServer> lazyPageServer;
    MemoryTracking tracking;
    std::shared_ptr<const kernel::VmaFlagReader> flagReader;
    /// Options with the external resources that listeners have added; empty if they added none.
    std::optional<model::Options> widened;
    DumpStatistics statistics;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    FrozenTree tree;
    // last member, so that it is destroyed before `tree`, whose destructor resumes the processes
    device::DumpDevices devices;
};

FrozenPhase::FrozenPhase(Run& run, Guardian& guardian, Purpose purpose, std::optional<WpTrackerLink> link)
    : run_(run), guardian_(guardian), purpose_(purpose), impl_(std::make_unique<Impl>(run, purpose, std::move(link))) {
    FrozenTree::requireAccess(*options().tree, options().freezeCgroup);
    // The link to parent images leads to those of this dump now.
    if (options().previousImages)
        removeOldImages(images());
    if (purpose == Purpose::Dump)
        guardian_.require(Stage::PreDump);
    // Before the freeze, because the removal of large files takes long.
    removeOldImages(images());
    readParentsAhead();
    if (purpose_ == Purpose::Dump && !options().background && !tracking().continues())
        impl_->flagReader = prepareFlagReader(runningTree(*options().tree, kMostForFlagReader), log());
    const HostPid root = *options().tree;
    while (devices().wantQuiesce() && devices().quiesce(runningTree(root)))
        stop().throwIfRequested();
    log().stage("freeze");
    const Stopwatch watch(statistics().freezing);
    impl_->since = std::chrono::steady_clock::now();
    tree().freeze(root, options().freezeCgroup, [this](HostPid pid) {
        requireClientsProcess(client(), pid);
        devices().pause(pid);
    });
    if (purpose == Purpose::Dump)
        takeExternals(guardian_.nameExternals());
}

/// Looks up parent pagemaps by HostPid. If the tree is in a private pid namespace, the images have other pids. Then
/// finds no pagemaps here, and the dump reads them later.
void FrozenPhase::readParentsAhead() {
    if (tracking().parentIsKnown())
        for (const HostPid pid : tracking().processes())
            pages().readParentAhead(memory::MemoryObject::process(TreePid(pid.value)));
}

void FrozenPhase::takeExternals(const std::vector<std::string>& names) {
    if (names.empty())
        return;
    if (!client().isOwner)
        failWith(EPERM, "only clients with all of criu's rights may name external resources");
    impl_->widened = run_.options;
    for (const std::string& name : names) {
        log().info("A client names an external resource: {}", name);
        impl_->widened->externals.push_back(options::parseExternal(name));
    }
}

FrozenPhase::~FrozenPhase() = default;

Refusals& FrozenPhase::refusals() const noexcept {
    return run_.refusals;
}

const ImageDir& FrozenPhase::images() const noexcept {
    return impl_->images;
}

void FrozenPhase::sendImages() {
    impl_->outgoing.complete(run_);
}

void FrozenPhase::syncImages() {
    impl_->outgoing.sync(run_, purpose_ == Purpose::Dump && options().finalState == model::FinalState::Default);
}

void FrozenPhase::keepImages() noexcept {
    impl_->ofClient.keep();
}

void FrozenPhase::revokeImages() noexcept {
    try {
        impl_->outgoing.revoke(run_);
    } catch (const std::exception& error) {
        run_.log.error("{}", error.what());
    }
}

DumpStatistics& FrozenPhase::statistics() noexcept {
    return impl_->statistics;
}

FrozenTree& FrozenPhase::tree() noexcept {
    return impl_->tree;
}

device::DumpDevices& FrozenPhase::devices() noexcept {
    return impl_->devices;
}

memory::PageSinks& FrozenPhase::pages() noexcept {
    return *impl_->pages;
}

ListeningPageServer* FrozenPhase::lazyPageServer() noexcept {
    return impl_->lazyPageServer ? &*impl_->lazyPageServer : nullptr;
}

void FrozenPhase::commitTracking() {
    tracking().commit(impl_->outgoing.takeKey());
}

const kernel::VmaFlagReader* FrozenPhase::flagReader() const noexcept {
    return impl_->flagReader.get();
}

MemoryTracking& FrozenPhase::tracking() noexcept {
    return impl_->tracking;
}

const cgroup::PropertyTable& FrozenPhase::cgroupProperties() const noexcept {
    return impl_->cgroupProperties;
}

const model::Options& FrozenPhase::options() const noexcept {
    return impl_->widened ? *impl_->widened : run_.options;
}

const model::Client& FrozenPhase::client() const noexcept {
    return run_.client;
}

Log& FrozenPhase::log() const noexcept {
    return run_.log;
}

StopRequest& FrozenPhase::stop() const noexcept {
    return run_.stop;
}

void FrozenPhase::resume(model::FinalState state) {
    tree().resume(state == model::FinalState::Stopped);
    noteTime();
}

void FrozenPhase::end() {
    // Ends the time measurement here, because it excludes the time in which the kernel frees the memory of killed
    // processes.
    noteTime();
    if (tree().kill())
        guardian_.outlive();
}

void FrozenPhase::noteTime() noexcept {
    statistics().frozen =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - impl_->since);
}

}  // namespace criu::engine
