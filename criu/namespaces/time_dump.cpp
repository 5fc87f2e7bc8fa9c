// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/ids.hpp"
#include "criu/namespaces/clocks.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

class TimeDump final : public NamespaceDump {
public:
    explicit TimeDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::Time, with) {
        requireOne();
        requireSameForChildren(&kernel::NamespaceIds::timeForChildren);
    }

    /// Clocks go on after a restore, whatever namespace the tree was in.
    void write(const DumpOutputs& outputs) override {
        ClocksDump(isOwn() ? rootNumber() : 0).write(outputs.images, inputs().tree.root().dir);
    }
};

}  // namespace

std::unique_ptr<NamespaceDump> makeTimeDump(const DumpInputs& inputs) {
    return std::make_unique<TimeDump>(inputs);
}

}  // namespace criu::namespaces
