// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/ids.hpp"
#include "criu/namespaces/further_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/uts.hpp"

namespace criu::namespaces {
namespace {

class UtsNamespaceDump final : public NamespaceDump {
public:
    explicit UtsNamespaceDump(const DumpInputs& with)
        : NamespaceDump(kernel::NamespaceKind::Uts, with), further_(kind(), with) {}

    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override {
        const auto* const space = further_.of(process);
        return space == nullptr ? rootNumber() : space->number;
    }

    void write(const DumpOutputs& outputs) override {
        if (isOwn())
            inside([&] { UtsDump(rootNumber()).write(outputs.images); });
        for (const auto& space : further_.all())
            inside(*space.member, [&] { UtsDump(space.number).write(outputs.images); });
        further_.noteExtension(outputs);
    }

private:
    FurtherNamespacesDump further_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUtsDump(const DumpInputs& inputs) {
    return std::make_unique<UtsNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
