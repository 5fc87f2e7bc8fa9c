// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/ids.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/uts.hpp"

namespace criu::namespaces {
namespace {

class UtsNamespaceDump final : public NamespaceDump {
public:
    explicit UtsNamespaceDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::Uts, with) {
        requireOne();
    }

    void write(const DumpOutputs& outputs) override {
        if (isOwn())
            inside([&] { UtsDump(rootNumber()).write(outputs.images); });
    }
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUtsDump(const DumpInputs& inputs) {
    return std::make_unique<UtsNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
