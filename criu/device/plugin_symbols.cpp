// SPDX-License-Identifier: GPL-2.0-only
// Symbols that plugins for CRIU 4.2 import from its binary (lib/c/criu-plugin-host.h). No other code of criu uses these
// symbols. The functions throw no exceptions, because C callers can't catch them.
#include "criu/device/plugin_symbols.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "lib/c/criu-plugin-host.h"

// Offsets that plugins built for CRIU 4.2 use.
static_assert(sizeof(cr_options) == 512 && offsetof(cr_options, libdir) == 160 &&
              offsetof(cr_options, timeout) == 352 && offsetof(cr_options, stream) == 408);
static_assert(sizeof(seize_task_status) == 40 && offsetof(seize_task_status, state) == 24 &&
              offsetof(seize_task_status, ppid) == 32);

// Type of which plugins use only pointers.
struct pstree_item {
    bool children = false;
};

namespace {

constexpr int kAlive = 1;
constexpr int kDead = 2;
constexpr int kStopped = 3;

pstree_item& rootItem() noexcept {
    static pstree_item item;
    return item;
}

void logFailure(const std::exception& error) noexcept {
    if (const auto* const context = criu::device::pluginContext())
        context->log.error("{}", error.what());
}

/// Runs `body` and returns its result. If it throws, logs the exception and returns -1.
template <typename Body>
int guarded(const Body& body) noexcept {
    try {
        return body();
    } catch (const std::exception& error) {
        logFailure(error);
        return -1;
    }
}

const criu::kernel::FdStore& store() {
    const auto* const context = criu::device::pluginContext();
    if (context == nullptr || context->store == nullptr)
        criu::fail("descriptors can be stored only while a tree is restored");
    return *context->store;
}

}  // namespace

// Data symbols of the interface. They aren't const, because CRIU 4.2 declares them so.
cr_options opts;
int fi_strategy = 0;
char criu_run_id[37];
pstree_item* root_item = nullptr;

namespace criu::device {

void setPluginSymbols(const Context& context) {
    opts = {};
    switch (context.options.finalState) {
        case model::FinalState::Running:
            opts.final_state = kAlive;
            break;
        case model::FinalState::Stopped:
            opts.final_state = kStopped;
            break;
        default:
            opts.final_state = context.store != nullptr ? kAlive : kDead;
    }
    opts.libdir = context.options.libDir ? const_cast<char*>(context.options.libDir->c_str()) : nullptr;
    opts.timeout = static_cast<unsigned>(context.options.timeout.count());
    fi_strategy = context.options.fault;
    root_item = &rootItem();
    root_item->children = context.tree != nullptr && context.tree->tasks.size() > 1;
    if (criu_run_id[0] == '\0')
        kernel::ProcDir().readFile("sys/kernel/random/uuid").copy(criu_run_id, sizeof(criu_run_id) - 1);
}

}  // namespace criu::device

int fdstore_add(int fd) {
    return guarded([&] { return static_cast<int>(store().add(fd).value); });
}

int fdstore_get(int id) {
    return guarded([&] {
        if (id < 0)
            criu::fail("descriptor {} was never stored", id);
        return store().get({static_cast<std::uint32_t>(id)}).release();
    });
}

void* shmalloc(size_t bytes) {
    try {
        return criu::Mapping::anonymous(criu::pageAlignUp(bytes), MAP_SHARED).release();
    } catch (const std::exception& error) {
        logFailure(error);
        return nullptr;
    }
}

bool has_children(pstree_item* item) {
    return item != nullptr && item->children;
}

int find_unused_fd_pid(pid_t) {
    return guarded([] { return store().first(); });
}

int read_fd_link(int fd, char* buffer, size_t size) {
    return guarded([&] {
        const ssize_t length = criu::sys(::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), buffer, size),
                                         "read where fd {} points to", fd);
        if (static_cast<size_t>(length) >= size)
            criu::fail("where fd {} points to takes more than {} bytes", fd, size);
        buffer[length] = '\0';
        return static_cast<int>(length);
    });
}

int close_fds(int first) {
    return guarded([&] {
        return criu::sys(::close_range(static_cast<unsigned>(first), ~0U, 0), "close all descriptors from {} on",
                         first);
    });
}

int img_streamer_open(char* name, int) {
    return guarded([&]() -> int { criu::fail("{}: images can't be streamed", name); });
}

bool alarm_timeouted() {
    return false;
}

void set_compel_interrupt_only_mode() {}

int parse_pid_status(pid_t pid, seize_task_status* status, void*) {
    return guarded([&] {
        criu::kernel::ProcBuffer buffer;
        const criu::kernel::TaskStatus found = criu::kernel::readStatus(criu::kernel::ProcDir().open(pid), buffer);
        *status = {};
        status->sigpnd = found.pending;
        status->shdpnd = found.sharedPending;
        status->sigblk = found.blocked;
        status->state = static_cast<char>(found.state);
        status->vpid = found.innermostPid();
        status->ppid = found.ppid;
        status->seccomp_mode = static_cast<int>(found.seccomp.value_or(criu::kernel::SeccompMode::Disabled));
        return 0;
    });
}
