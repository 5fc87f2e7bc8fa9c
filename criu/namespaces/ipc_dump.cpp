// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/kernel/sysv_ipc.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/ipc.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

class IpcNamespaceDump final : public NamespaceDump {
public:
    explicit IpcNamespaceDump(const DumpInputs& with)
        : NamespaceDump(kernel::NamespaceKind::Ipc, with), content_(rootNumber(), with.surroundings.ids) {
        requireOne();
        if (!isOwn()) {
            with.surroundings.systemV = rootNumber();
            return;
        }
        inside([&] {
            content_.check();
            for (const int id : kernel::listIpcIds(kernel::IpcKind::SharedMemory))
                with.surroundings.sharedMemory.push_back(static_cast<std::uint32_t>(id));
        });
        if (!content_.posixQueues().empty()) {
            if (with.options.compat)
                fail("the IPC namespace of the tree has POSIX message queues, which CRIU 4.2 can't restore");
            requireNobodyElse();
        }
        with.surroundings.semaphores = &content_.semaphores();
        with.surroundings.posixQueues = &content_.posixQueues();
    }

    void write(const DumpOutputs& outputs) override {
        if (!isOwn())
            return;
        if (!content_.posixQueues().empty()) {
            requireNobodyElse();  // again: some queues without a name may be new
            outputs.extensions.emplace_back(kPosixQueues);
        }
        StopRequest& stop = inputs().stop;
        inside([&] {
            memory::Drainer::Options how;
            how.stopWanted = [&stop] { return stop.requested(); };
            memory::Drainer drainer(how);
            outputs.sharedPagesWritten += content_.write(outputs.images, outputs.pages, drainer, stop);
        });
    }

private:
    /// For a moment messages are out of their queues. Who comes then from elsewhere would find them empty, or fill
    /// them.
    void requireNobodyElse() const {
        const kernel::ProcDir proc;
        for (const pid_t pid : proc.processes()) {
            if (inputs().tree.pids.contains(HostPid(pid)) || !isInside(proc, pid))
                continue;
            Error error(0,
                        fmt::format("process {} isn't part of the tree but shares the POSIX message queues of its IPC "
                                    "namespace, which can't be read without taking messages out",
                                    pid));
            error.addHint("end it, or have it leave that namespace");
            throw error;
        }
    }

    [[nodiscard]] bool isInside(const kernel::ProcDir& proc, pid_t pid) const {
        try {
            return kernel::readNamespaceId(proc.open(pid), kind()) == inputs().tree.root().ids.of(kind());
        } catch (const Error& error) {
            if (error.code() != ENOENT && error.code() != ESRCH)
                throw;
            return false;  // it has ended meanwhile
        }
    }

    IpcDump content_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makeIpcDump(const DumpInputs& inputs) {
    return std::make_unique<IpcNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
