// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/namespace_file.hpp"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "images/fdinfo.hpp"
#include "images/ns.hpp"

namespace criu::namespaces {
namespace {

using files::FileDump;
using files::FileOpener;
using files::FileRestore;
using files::OpenFd;

/// Returns the name of the namespace kind in a link, such as "net" for "net:[4026531833]". Returns an empty text for
/// other links.
std::string_view nameOf(std::string_view link) {
    const std::size_t colon = link.find(":[");
    return colon != std::string_view::npos && link.ends_with(']') ? link.substr(0, colon) : std::string_view{};
}

class RestoredNamespaceFile final : public files::RestoredFile {
public:
    RestoredNamespaceFile(const NsFileEntry& entry, kernel::NamespaceKind kind)
        : entry_(entry), path_(fmt::format("/proc/self/ns/{}", kernel::namespaceName(kind))) {}

    [[nodiscard]] std::string describe() const override { return path_; }

    void open(FileOpener& opener) override {
        const int flags = static_cast<int>(entry_.flags) | O_CLOEXEC;
        opener.provide(FileId{entry_.id}, UniqueFd(sys(::open(path_.c_str(), flags), "open {}", path_)));
    }

private:
    const NsFileEntry& entry_;
    std::string path_;
};

class NamespaceFileKindDump final : public files::FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override {
        const std::string_view name = nameOf(file.link);
        return std::any_of(std::begin(kNsIdOrder), std::end(kNsIdOrder),
                           [&](kernel::NamespaceKind kind) { return kernel::namespaceName(kind) == name; });
    }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        const auto* const kind = std::find_if(
            std::begin(kNsIdOrder), std::end(kNsIdOrder),
            [&](kernel::NamespaceKind candidate) { return kernel::namespaceName(candidate) == nameOf(file.link); });
        const bool network = kind != std::end(kNsIdOrder) && *kind == kernel::NamespaceKind::Net;
        const auto number = network ? std::optional(file.network)
                            : kind != std::end(kNsIdOrder)
                                ? dump.namespaceNumber(*kind, kernel::parseNamespaceLink(file.link))
                                : std::nullopt;
        if (!number)
            fail("{} refers to a namespace that the tree isn't in, or not as a whole, which can't be dumped yet",
                 file.describe());
        auto& out = *dump.arena().make<NsFileEntry>();
        entry.nsf = &out;
        out.id = entry.id;
        out.ns_id = *number;
        out.ns_cflag = static_cast<std::uint32_t>(kernel::namespaceCloneFlag(*kind));
        out.flags = file.statusFlags();
    }
};

class NamespaceFileKindRestore final : public files::FileKindRestore {
public:
    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, FileRestore& restore) override {
        if (entry.nsf == nullptr)
            fail("file {} is a namespace file without data", entry.id);
        // Opens the namespace of this process: for a network namespace, the file plan has chosen a process that is in
        // it.
        if (entry.nsf->ns_cflag == CLONE_NEWNET)
            return std::make_shared<RestoredNamespaceFile>(*entry.nsf, kernel::NamespaceKind::Net);
        for (const kernel::NamespaceKind kind : kNsIdOrder)
            if (restore.namespaceNumber(kind) == entry.nsf->ns_id)
                return std::make_shared<RestoredNamespaceFile>(*entry.nsf, kind);
        fail("file {} refers to a namespace (number {}) that its process wasn't in, which can't be restored yet",
             entry.id, entry.nsf->ns_id);
    }
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeNamespaceFileDump() {
    return std::make_unique<NamespaceFileKindDump>();
}

std::unique_ptr<files::FileKindRestore> makeNamespaceFileRestore() {
    return std::make_unique<NamespaceFileKindRestore>();
}

}  // namespace criu::namespaces
