// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/non_root_ns_restore.hpp"
#include "images/utsns.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Host and domain name of a UTS namespace.
class Names {
public:
    Names(const ImageDir& images, std::uint32_t number) {
        const auto entry = images.openRequired(ImageKind::Utsns, number).only<UtsnsEntry>();
        host_ = entry->nodename;
        domain_ = entry->domainname;
        constexpr std::size_t kLongest = sizeof(utsname::nodename) - 1;
        for (const std::string& name : {host_, domain_})
            if (name.size() > kLongest)
                fail("the host or domain name {} is longer than {} bytes", name, kLongest);
    }

    /// Sets the names in the calling thread's UTS namespace.
    void set() const {
        sys(::sethostname(host_.data(), host_.size()), "set the host name {}", host_);
        sys(::setdomainname(domain_.data(), domain_.size()), "set the domain name {}", domain_);
    }

private:
    std::string host_;
    std::string domain_;
};

class UtsRestore final : public NamespaceRestore {
public:
    UtsRestore(const RestoreInputs& inputs, const KindNsIds& numbers)
        : further_(NamespaceKind::Uts, numbers.others, inputs.nsContext) {
        if (numbers.own != 0)
            root_.emplace(inputs.images, numbers.own);
        for (const std::uint32_t number : numbers.others)
            others_.emplace(number, Names(inputs.images, number));
    }

    [[nodiscard]] std::size_t descriptors() const override { return further_.descriptors(); }
    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override { further_.prepare(store); }

    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr && root_ ? CLONE_NEWUTS : 0;
    }

    void begin() override {
        further_.make([this](std::uint32_t number) {
            sys(::unshare(CLONE_NEWUTS), "create it");
            others_.at(number).set();
            return true;
        });
    }

    void fill(const kernel::ProcPid& first) override {
        if (root_)
            visitNamespace(first, NamespaceKind::Uts, [this] { root_->set(); });
    }

    void complete(const model::Task& task) const override { further_.enter(task); }
    void completeThread(const model::Task& /*task*/) const override { further_.follow(); }

private:
    std::optional<Names> root_;  ///< names of the root's namespace; unset if the root was in criu's
    std::map<std::uint32_t, Names> others_;
    NonRootNs further_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeUtsRestore(const RestoreInputs& inputs) {
    if (inputs.joined.has(NamespaceKind::Uts)) {
        (void)KindNsIds::ofOne(inputs, NamespaceKind::Uts);
        return makeJoinedRestore(inputs, NamespaceKind::Uts);
    }
    const KindNsIds numbers = KindNsIds::ofAny(inputs, NamespaceKind::Uts);
    return numbers.own != 0 || !numbers.others.empty() ? std::make_unique<UtsRestore>(inputs, numbers) : nullptr;
}

}  // namespace criu::namespaces
