// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/uts_restore.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/image_order.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "images/core.hpp"
#include "images/utsns.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// What a namespace holds.
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

    /// Gives them to the calling thread's namespace.
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
    UtsRestore(const ImageDir& images, const KindNumbers& numbers) : root_(images, numbers.own) {
        for (const std::uint32_t number : numbers.others)
            others_.push_back({number, Names(images, number), {}});
    }

    [[nodiscard]] std::size_t descriptors() const override { return others_.size(); }

    /// Numbers of descriptors that all processes inherit; the first process puts what it makes there.
    void prepare(kernel::FdStore& store, const Inherited& /*inherited*/) override {
        for (Other& other : others_)
            other.fd = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(NamespaceKind::Uts));
    }

    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr ? CLONE_NEWUTS : 0;
    }

    /// The further ones are the first process' work, so that they belong to its user namespace. While it is in one of
    /// them nobody may look for its own, and so it names that one, too.
    void begin() override {
        if (others_.empty())
            return;
        root_.set();
        const UniqueFd own = kernel::openOwnNamespace(NamespaceKind::Uts);
        for (const Other& other : others_) {
            sys(::unshare(CLONE_NEWUTS), "create UTS namespace {}", other.number);
            other.names.set();
            const UniqueFd made = kernel::openOwnNamespace(NamespaceKind::Uts);
            sys(::dup3(made.get(), other.fd.get(), O_CLOEXEC), "hold a UTS namespace");
        }
        sys(::setns(own.get(), CLONE_NEWUTS), "go back to the root's UTS namespace");
    }

    void fill(const kernel::ProcPid& first) override {
        if (others_.empty())
            visitNamespace(first, NamespaceKind::Uts, [this] { root_.set(); });
    }

    void complete(const model::Task& task) const override {
        if (!task.ids)
            return;
        const std::uint32_t number = numberOf(**task.ids, NamespaceKind::Uts).value_or(0);
        const auto found =
            std::find_if(others_.begin(), others_.end(), [&](const Other& other) { return number == other.number; });
        if (found != others_.end())
            sys(::setns(found->fd.get(), CLONE_NEWUTS), "enter UTS namespace {}", found->number);
    }

private:
    struct Other {
        std::uint32_t number;
        Names names;
        UniqueFd fd;
    };

    Names root_;
    std::vector<Other> others_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makeUtsRestore(const RestoreInputs& inputs) {
    if (inputs.joined.has(NamespaceKind::Uts)) {
        (void)KindNumbers::ofOne(inputs, NamespaceKind::Uts);
        return makeJoinedRestore(inputs, NamespaceKind::Uts);
    }
    const KindNumbers numbers = KindNumbers::of(inputs, NamespaceKind::Uts);
    return numbers.own != 0 ? std::make_unique<UtsRestore>(inputs.images, numbers) : nullptr;
}

}  // namespace criu::namespaces
