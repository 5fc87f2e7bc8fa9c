// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/joined.hpp"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/options.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

bool isNumber(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void requireNamespace(int fd, NamespaceKind kind, std::string_view what) {
    if (::ioctl(fd, NS_GET_NSTYPE) != kernel::namespaceCloneFlag(kind))
        fail("{} is no {} namespace", what, kernel::namespaceName(kind));
}

JoinedNamespaces::JoinedNamespaces(const model::Options& options) {
    for (const model::JoinNs& wanted : options.joinNs) {
        const NamespaceKind kind = wanted.kind;
        const std::string_view name = kernel::namespaceName(kind);
        if (wanted.uid || wanted.gid)
            fail("--join-ns user:{}: processes keep the users and groups that images say; others can't be given",
                 wanted.target);
        const std::string path =
            isNumber(wanted.target) ? fmt::format("/proc/{}/ns/{}", wanted.target, name) : wanted.target;
        UniqueFd fd(sys(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "--join-ns: open {}", path));
        requireNamespace(fd.get(), kind, path);
        if (!fds_.emplace(kind, std::move(fd)).second)
            fail("--join-ns asks for two {} namespaces; the second is {}", name, wanted.target);
    }
}

int JoinedNamespaces::descriptor(NamespaceKind kind) const {
    const auto found = fds_.find(kind);
    return found == fds_.end() ? -1 : found->second.get();
}

void JoinedNamespaces::inherit(kernel::FdStore& store) {
    for (auto& [kind, fd] : fds_)
        fd = store.inherit(kernel::FdKey::Namespace, std::move(fd));
}

void JoinedNamespaces::enter(NamespaceKind kind) const {
    const int fd = descriptor(kind);
    if (fd < 0)
        return;
    struct stat wanted {};
    sys(::fstat(fd, &wanted), "look at a {} namespace", kernel::namespaceName(kind));
    // A process of a user namespace may be in the namespace already, and have no right to enter it.
    if (wanted.st_ino != kernel::readNamespaceId(kernel::ProcDir().self(), kind))
        sys(::setns(fd, kernel::namespaceCloneFlag(kind)), "join a {} namespace", kernel::namespaceName(kind));
}

}  // namespace criu::namespaces
