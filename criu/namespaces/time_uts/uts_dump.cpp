// SPDX-License-Identifier: GPL-2.0-only
#include <sys/utsname.h>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"
#include "images/utsns.hpp"

namespace criu::namespaces {
namespace {

/// Writes the host and domain name of the calling thread's UTS namespace. `number`: namespace id.
void writeNames(const ImageDir& images, std::uint32_t number) {
    utsname names{};
    sys(::uname(&names), "read host and domain name");
    UtsnsEntry entry = UTSNS_ENTRY__INIT;
    entry.nodename = names.nodename;
    entry.domainname = names.domainname;
    ImageWriter image = images.create(ImageKind::Utsns, number);
    image.write(entry);
    image.finish();
}

class UtsNamespaceDump final : public NonRootNsKindDump {
public:
    explicit UtsNamespaceDump(const DumpInputs& with)
        : NonRootNsKindDump(kernel::NamespaceKind::Uts, with, Enters::AfterItsFiles) {}

    void write(const DumpOutputs& outputs) override {
        if (isOwn())
            inside([&] { writeNames(outputs.images, rootNumber()); });
        for (const auto& space : further_.all())
            inside(*space.member, [&] { writeNames(outputs.images, space.number); });
        further_.noteExtension(outputs);
    }
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUtsDump(const DumpInputs& inputs) {
    return std::make_unique<UtsNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
