// SPDX-License-Identifier: GPL-2.0-only
#include <map>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/uts.hpp"

namespace criu::namespaces {
namespace {

class UtsNamespaceDump final : public NamespaceDump {
public:
    explicit UtsNamespaceDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::Uts, with) {
        if (isOwn())
            numberOthers();
        else
            requireOne();
    }

    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override {
        const auto found = others_.find(process);
        return found == others_.end() ? rootNumber() : found->second.number;
    }

    void write(const DumpOutputs& outputs) override {
        if (!isOwn())
            return;
        inside(inputs().tree.root(), [&] { UtsDump(rootNumber()).write(outputs.images); });
        for (const auto& [pid, other] : others_)
            if (other.first)
                inside(*other.process, [&, number = other.number] { UtsDump(number).write(outputs.images); });
    }

private:
    struct Other {
        std::uint32_t number;
        const SeenProcess* process;
        bool first;  ///< of those in this namespace
    };

    void numberOthers() {
        std::map<std::optional<std::uint32_t>, std::uint32_t> numbers;
        const SeenTree& tree = inputs().tree;
        for (const SeenProcess& process : tree.processes) {
            const auto inode = process.ids.of(kind());
            if (inode == tree.root().ids.of(kind()))
                continue;
            if (inode == tree.criu.of(kind()))
                fail("{} is in the UTS namespace of criu, but the root of the tree isn't", process.describe());
            const bool fresh = !numbers.contains(inode);
            if (fresh)
                numbers.emplace(inode, inputs().numbers.addOther());
            others_.emplace(process.pid, Other{numbers.at(inode), &process, fresh});
        }
    }

    std::map<HostPid, Other> others_;  ///< processes that aren't in the root's namespace
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUtsDump(const DumpInputs& inputs) {
    return std::make_unique<UtsNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
