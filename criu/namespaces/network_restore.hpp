// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/network_settings.hpp"
#include "images/core.hpp"
#include "images/netdev.hpp"

namespace criu::namespaces {

/// The network namespace that restored processes are in: a new one, filled from the images; one that the caller names
/// (--join-ns, --inherit-fd for one that was external to the dump); or that of criu.
/// A new one is held by a descriptor only until processes are in it, so a failed restore leaves nothing of it.
class NetworkRestore {
public:
    /// `outside` and `tree`: numbers of criu's and the tree's namespaces. Reads the images and checks that all can be
    /// made of them here; throws Error. `joined` outlives this object.
    NetworkRestore(const model::Options& options, const JoinedNamespaces& joined, const ImageDir& images,
                   const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree, Log& log);

    /// Whether the tree was in a namespace of its own. Then the dump locked that as a whole.
    [[nodiscard]] bool wasOwn() const noexcept { return number_ != 0; }

    /// Whether the first process of the tree is to be born in a new one (CLONE_NEWNET).
    [[nodiscard]] bool isNew() const noexcept;

    /// Opens an existing namespace, if that is what is wanted. `inherited` has the descriptor for a name (-1: none),
    /// `lift` moves descriptors out of the way.
    void open(const std::function<int(std::string_view)>& inherited, const std::function<UniqueFd(UniqueFd)>& lift);

    /// The first process of the tree goes there, unless it was born in a new one.
    void enter() const;

    /// Fills the new namespace that the first process, a /proc/PID, was born in.
    void fill(const kernel::ProcPid& root, const ImageDir& images);

    /// Runs `work` in the namespace if it is one that the dump has locked as a whole.
    void inside(const std::function<void()>& work) const;

private:
    [[nodiscard]] bool joins() const { return joined_.has(kernel::NamespaceKind::Net); }
    void planOwn(const ImageDir& images);
    void fillHere(const ImageDir& images) const;

    Log& log_;
    SettingsRule settingsRule_;
    const JoinedNamespaces& joined_;
    std::uint32_t number_ = 0;  ///< of the tree's own namespace, 0: it has none
    std::optional<Record<NetnsEntry>> settings_;
    std::vector<Record<NetDeviceEntry>> devices_;
    UniqueFd fd_;
};

}  // namespace criu::namespaces
