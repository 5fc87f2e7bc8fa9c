// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/dump_lazy_pages.hpp"

#include <cerrno>
#include <chrono>
#include <functional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/lazy/lazy_page_server.hpp"
#include "criu/engine/pageserver/page_server_connection.hpp"
#include "criu/engine/pageserver/server_start.hpp"
#include "criu/engine/progress.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/vma_dump.hpp"
#include "criu/model/client.hpp"
#include "criu/model/options.hpp"
#include "images/mm.hpp"

namespace criu::engine {

std::shared_ptr<const memory::LazyAreas> lazyAreasAtSource(const FrozenTask& task, const memory::DumpedMemory& memory,
                                                           const MmEntry& mm) {
    std::vector<const VmaEntry*> vmas;
    for (const memory::DumpedVma& vma : memory.vmas)
        vmas.push_back(vma.entry);
    memory::EagerMemory touched(mm);
    for (const compel::FrozenThread& thread : task.process->threads()) {
        touched.addStack(thread.tracee.registers().sp());
        if (const auto rseq = thread.tracee.rseq())
            touched.addRseq(rseq->address, rseq->size);
    }
    return std::make_shared<const memory::LazyAreas>(vmas, touched);
}

/// Returns a function that throws Error if the frozen tree mustn't wait any longer for a lazy-pages daemon: after the
/// --timeout of the user, or when the client of a request has ended.
static std::function<void()> limitOfWait(const FrozenPhase& frozen) {
    using Clock = std::chrono::steady_clock;
    return [&frozen, begin = Clock::now()] {
        const model::Options& options = frozen.options();
        if (options.timeoutGiven && options.timeout.count() != 0 && Clock::now() - begin >= options.timeout)
            failWith(ETIMEDOUT, "no lazy-pages daemon connects for {} s (--timeout)", options.timeout.count());
        if (const auto& process = frozen.client().process; process && process->waitExit())
            fail("the client, process {}, has ended before a lazy-pages daemon connects", process->pid());
    };
}

void serveLazyPages(FrozenPhase& frozen) {
    ListeningPageServer& server = *frozen.lazyPageServer();
    frozen.guardian().require(Stage::StatusReady);
    writeReady(frozen.options().statusFd);
    frozen.log().info("Waiting for requests for pages");
    const bool reused = frozen.options().pageServerSocket >= 0;
    showWait(frozen.options(),
             fmt::format("The tree stands still, and criu waits for criu lazy-pages{}. Ctrl-C ends the dump: the tree "
                         "then runs on.",
                         reused ? std::string() : fmt::format(" at port {}", server.port)));
    memory::PageConnection client =
        acceptSender(server, frozen.options(), frozen.stop(), frozen.log(), limitOfWait(frozen));
    server.socket.reset();
    frozen.log().info("Pages are being taken");
    serveFrozenPages(client, frozen.tree(), reused);
    frozen.log().info("All pages that were left out have been taken");
}

}  // namespace criu::engine
