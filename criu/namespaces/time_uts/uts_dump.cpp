// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/ids.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"
#include "criu/namespaces/time_uts/uts.hpp"

namespace criu::namespaces {
namespace {

class UtsNamespaceDump final : public NonRootNsKindDump {
public:
    explicit UtsNamespaceDump(const DumpInputs& with)
        : NonRootNsKindDump(kernel::NamespaceKind::Uts, with, Enters::AfterItsFiles) {}

    void write(const DumpOutputs& outputs) override {
        if (isOwn())
            inside([&] { UtsDump(rootNumber()).write(outputs.images); });
        for (const auto& space : further_.all())
            inside(*space.member, [&] { UtsDump(space.number).write(outputs.images); });
        further_.noteExtension(outputs);
    }
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUtsDump(const DumpInputs& inputs) {
    return std::make_unique<UtsNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
