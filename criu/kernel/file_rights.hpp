// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

/// File rights of a process: the users, groups and capabilities that decide which files the process may open
/// (credentials(7), capabilities(7)).
namespace criu::kernel {

/// File rights of one process. Ids are ids in the caller's user namespace.
struct FileRights {
    uid_t user = 0;             ///< fsuid, by which the kernel checks file accesses
    gid_t group = 0;            ///< fsgid
    std::vector<gid_t> groups;  ///< supplementary groups
    std::vector<uid_t> users;   ///< real, effective and saved uid, to which the process can switch
    bool ignoresModes = false;  ///< the process has CAP_DAC_OVERRIDE
    bool readsAll = false;      ///< the process has CAP_DAC_READ_SEARCH

    /// Returns true if these rights allow the process to open every file that root may open.
    [[nodiscard]] bool areAll() const noexcept { return user == 0 && ignoresModes && readsAll; }
    /// Returns true if the process may change the mode of files of the user `owner`, because it counts as their owner.
    [[nodiscard]] bool own(uid_t owner) const noexcept;
    friend bool operator==(const FileRights&, const FileRights&) = default;
};

/// Scope in which the calling thread, which runs as root, resolves paths and opens files with `rights`. Entering and
/// leaving takes about ten system calls.
class FileRightsScope {
public:
    /// `others`: mask of capabilities unrelated to files; the thread keeps those of them that it has. Throws Error.
    explicit FileRightsScope(const FileRights& rights, std::uint64_t others = ~std::uint64_t{0});
    ~FileRightsScope();
    FileRightsScope(const FileRightsScope&) = delete;
    FileRightsScope& operator=(const FileRightsScope&) = delete;

private:
    struct CapabilityWords {
        unsigned effective = 0;
        unsigned permitted = 0;
        unsigned inheritable = 0;
    };
    [[nodiscard]] static std::vector<CapabilityWords> ownCapabilities();
    static bool setCapabilities(const std::vector<CapabilityWords>& words) noexcept;
    void goBack() noexcept;

    std::vector<gid_t> groups_;
    std::vector<CapabilityWords> capabilities_;
    uid_t user_ = 0;
    gid_t group_ = 0;
    pid_t parent_ = 0;
    int deathSignal_ = 0;
    int dumpable_ = 0;
};

}  // namespace criu::kernel
