// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/uts_restore.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "images/utsns.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

class UtsRestore final : public NamespaceRestore {
public:
    UtsRestore(const ImageDir& images, std::uint32_t number) {
        const auto entry = images.openRequired(ImageKind::Utsns, number).only<UtsnsEntry>();
        host_ = entry->nodename;
        domain_ = entry->domainname;
        constexpr std::size_t kLongest = sizeof(utsname::nodename) - 1;
        for (const std::string& name : {host_, domain_})
            if (name.size() > kLongest)
                fail("the host or domain name {} is longer than {} bytes", name, kLongest);
    }

    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr ? CLONE_NEWUTS : 0;
    }

    void fill(const kernel::ProcPid& first) override {
        visitNamespace(first, NamespaceKind::Uts, [this] {
            sys(::sethostname(host_.data(), host_.size()), "set the host name {}", host_);
            sys(::setdomainname(domain_.data(), domain_.size()), "set the domain name {}", domain_);
        });
    }

private:
    std::string host_;
    std::string domain_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeUtsRestore(const RestoreInputs& inputs) {
    const std::uint32_t number = KindNumbers::ofOne(inputs, NamespaceKind::Uts).own;
    if (inputs.joined.has(NamespaceKind::Uts))
        return makeJoinedRestore(inputs, NamespaceKind::Uts);
    return number != 0 ? std::make_unique<UtsRestore>(inputs.images, number) : nullptr;
}

}  // namespace criu::namespaces
