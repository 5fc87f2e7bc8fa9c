// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/device_restore.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/network_content.hpp"
#include "images/core.hpp"

namespace criu::namespaces {

/// The network namespaces that restored processes and their sockets are in. That of the tree's root is a new one,
/// filled from the images; or one that the caller names (--join-ns, --inherit-fd for one that was external to the
/// dump); or that of criu. Others are new, or external as well.
/// New ones are held by descriptors only until processes are in them, so a failed restore leaves nothing of them.
class NetworkRestore {
public:
    using Inherited = std::function<int(std::string_view name)>;
    using Lift = std::function<UniqueFd(UniqueFd)>;

    /// `outside` and `tree`: numbers of criu's and the root's namespaces; `others`: of network namespaces that
    /// processes and files are in. Reads the images and checks that all can be made of them here; throws Error.
    NetworkRestore(const model::Options& options, const JoinedNamespaces& joined, const ImageDir& images,
                   const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree, const std::set<std::uint32_t>& others,
                   Log& log);

    /// Whether the tree was in a namespace of its own. Then the dump locked that as a whole, and all others.
    [[nodiscard]] bool wasOwn() const noexcept { return number_ != 0; }
    /// Whether the first process of the tree is to be born in a new one (CLONE_NEWNET).
    [[nodiscard]] bool isNew() const noexcept;

    /// What was put into the outside is to stay.
    void keep() noexcept { devices_.keep(); }

    /// Opens existing namespaces and makes new ones, except that of the first process. `inherited` has the descriptor
    /// for a name (-1: none), `lift` moves descriptors out of the way.
    void open(const Inherited& inherited, const Lift& lift);

    /// The first process of the tree goes there, unless it was born in a new one.
    void enter() const;
    /// A process or its sockets go to another one, or to the root's. `number`: in images.
    void enter(std::uint32_t number) const;
    /// Whether a number is of another namespace than the root's.
    [[nodiscard]] bool isOther(std::uint32_t number) const noexcept;
    /// A descriptor of a namespace; -1 if it is criu's own or not known here.
    [[nodiscard]] int descriptorOf(std::uint32_t number) const noexcept;
    /// How many descriptors open() passes to `lift`.
    [[nodiscard]] std::size_t descriptors() const noexcept { return spaces_.size(); }

    /// Fills the new namespaces; that of the first process, a /proc/PID, is the one that it was born in. `lockOther`
    /// runs in each other one, with its index, before packets can come; the root's lock is in the images.
    void fill(const kernel::ProcPid& root, const ImageDir& images, const std::function<void(std::size_t)>& lockOther);

    /// Runs `work` in the root's namespace if it is one that the dump has locked as a whole.
    void inside(const std::function<void()>& work) const;
    /// Runs `work` in each other one.
    void insideOthers(const std::function<void(std::size_t index)>& work) const;
    [[nodiscard]] std::size_t others() const noexcept;

private:
    struct Space {
        std::uint32_t number = 0;
        std::optional<NetworkContent> content;  ///< nothing: it is joined
        UniqueFd fd;
        bool made = false;  ///< it is new
    };

    [[nodiscard]] bool joins() const { return joined_.has(kernel::NamespaceKind::Net); }
    void planOthers(const ImageDir& images, std::set<std::uint32_t> wanted);
    [[nodiscard]] const Space* find(std::uint32_t number) const noexcept;
    [[nodiscard]] std::vector<DevicesOf> devices() const;
    UniqueFd openExternal(const Space& space, const Inherited& inherited) const;

    Log& log_;
    SettingsRule settingsRule_;
    const JoinedNamespaces& joined_;
    bool empty_;                 ///< content isn't restored
    std::uint32_t number_;       ///< of the root's own namespace, 0: it has none
    std::vector<Space> spaces_;  ///< the root's first, if it isn't criu's
    DeviceRestore devices_;
};

}  // namespace criu::namespaces
