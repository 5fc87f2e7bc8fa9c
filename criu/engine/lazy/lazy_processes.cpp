// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lazy/lazy_processes.hpp"

#include <signal.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/lazy/lazy_link.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::engine {
namespace {

/// Adds the children of `process` to `known`. A restored process may have created children, and a child lacks the pages
/// that its parent lacked.
void addChildren(pid_t process, std::vector<kernel::PidFd>& known) {
    const kernel::ProcPid dir = kernel::ProcDir().open(process);
    kernel::ProcBuffer buffer;
    for (const pid_t thread : kernel::readThreads(dir))
        for (const pid_t child : kernel::readChildren(dir, thread, buffer))
            if (std::none_of(known.begin(), known.end(), [&](const auto& other) { return other.pid() == child; }))
                known.emplace_back(child);
}

}  // namespace

LazyProcesses LazyProcesses::receive(LazyLink& link, StopRequest& stop) {
    using Kind = LazyMessage::Kind;
    LazyProcesses all;
    UniqueFd memory;
    for (;;) {
        UniqueFd fd;
        const auto message = link.receive(fd, stop);
        if (!message)
            fail("the restore has failed");
        if (message->kind == Kind::Begin)
            return all;
        if (message->kind == Kind::Memory && fd && !memory && kernel::isUserfaultfd(fd.get()))
            memory = std::move(fd);
        else if (message->kind == Kind::Process && fd && memory)
            all.processes_.push_back({TreePid(message->inside), std::move(memory),
                                      kernel::PidFd(std::move(fd), static_cast<pid_t>(message->outside))});
        else if (message->kind == Kind::Whole && fd && !memory)
            all.processes_.push_back(
                {TreePid(message->inside), {}, kernel::PidFd(std::move(fd), static_cast<pid_t>(message->outside))});
        else
            fail("the restore sends a message {} out of turn", static_cast<unsigned>(message->kind));
    }
}

bool LazyProcesses::anyLacksPages() const noexcept {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](const LazyProcess& process) { return static_cast<bool>(process.memory); });
}

void LazyProcesses::closeMemory(TreePid inside) noexcept {
    for (LazyProcess& process : processes_)
        if (process.inside == inside)
            process.memory.reset();
}

void LazyProcesses::dropEnded() {
    std::erase_if(processes_, [](const LazyProcess& process) { return process.process.waitExit(); });
}

void LazyProcesses::end(Log& log) noexcept {
    if (processes_.empty())
        return;
    try {
        std::vector<kernel::PidFd> ending;
        std::string names;
        for (LazyProcess& process : processes_) {
            names += fmt::format("{}{}", names.empty() ? "" : ", ", process.inside);
            ending.push_back(std::move(process.process));
        }
        for (std::size_t i = 0; i < ending.size(); ++i) {
            try {
                addChildren(ending[i].pid(), ending);
            } catch (const std::exception&) {
                // The process has ended.
            }
        }
        for (const kernel::PidFd& process : ending)
            (void)process.sendSignal(SIGKILL);
        log.error(
            "Processes {} are killed, with all their descendants: memory of some can't be supplied any more, and the "
            "others must not run without them, or beside the tree that they were dumped from",
            names);
    } catch (const std::exception& error) {
        log.error("{}", error.what());
    }
}

}  // namespace criu::engine
