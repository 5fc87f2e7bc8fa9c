// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/sysv_ipc.hpp"
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
        with.surroundings.semaphores = &content_.semaphores();
    }

    void write(const DumpOutputs& outputs) override {
        if (!isOwn())
            return;
        StopRequest& stop = inputs().stop;
        inside([&] {
            memory::Drainer::Options how;
            how.stopWanted = [&stop] { return stop.requested(); };
            memory::Drainer drainer(how);
            outputs.sharedPagesWritten += content_.write(outputs.images, outputs.pages, drainer, stop);
        });
    }

private:
    IpcDump content_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makeIpcDump(const DumpInputs& inputs) {
    return std::make_unique<IpcNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
