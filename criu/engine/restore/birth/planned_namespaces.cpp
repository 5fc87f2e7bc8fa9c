// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/birth/planned_namespaces.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "criu/device/restore_devices.hpp"
#include "criu/engine/namespace_kinds.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/sockets/unix/unix_plan.hpp"
#include "images/fdinfo.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

/// Returns the ids of all network namespaces that contain files. The value of each is the lowest FileId in this
/// namespace.
std::map<std::uint32_t, FileId> networksOfFiles(const RestoreImages& content) {
    std::map<std::uint32_t, FileId> networks;
    for (const auto& [id, file] : content.files)
        if (const auto number = networkOf(*file))
            if (const auto [known, fresh] = networks.emplace(*number, id); !fresh)
                known->second = std::min(known->second, id);
    return networks;
}

}  // namespace

std::string networkLockName(const RestoreImages& content) {
    const InventoryEntry& inventory = **content.inventory;
    return inventory.dump_criu_run_id != nullptr ? inventory.dump_criu_run_id : fmt::to_string(content.tree.root().pid);
}

namespaces::NamespaceRestores planNamespaces(PlannedRestore& plan) {
    const auto networks = networksOfFiles(plan.content);
    const namespaces::RestoreInputs inputs{plan.options(),
                                           plan.log(),
                                           plan.images,
                                           plan.pages,
                                           plan.checkStop,
                                           [&plan](std::uint64_t bytes) { plan.amounts.addFile(bytes); },
                                           [&plan](std::uint64_t bytes) { plan.amounts.addMemory(bytes); },
                                           plan.tree(),
                                           (*plan.content.inventory)->root_ids,
                                           networks,
                                           plan.joined,
                                           plan.nsContext};
    const auto putByPlugin = [&plan](int id, const std::string& path) { plan.devices.putMount(id, path); };
    // Passes an empty id map, because the process that creates the files is already in the tree's user namespace, in
    // which ids need no translation.
    const auto makeDeletedFiles = [&plan](files::HiddenMounts hidden, files::MountLinker linker, kernel::FdStore& to) {
        plan.files.setMounts(std::move(hidden), std::move(linker));
        plan.files.createDeleted(model::IdMap(), to);
    };
    const auto namedDirectories = [&plan] {
        namespaces::NamedDirectories named;
        for (const auto& [mount, directories] : sockets::directoriesOfNames(plan.files.entries(FD_TYPES__UNIXSK)))
            for (const auto& [path, stays] : directories)
                named[mount][path] = stays ? namespaces::DirectoryUse::Kept : namespaces::DirectoryUse::Removed;
        return named;
    };
    return makeNamespaceRestores({inputs,
                                  plan.cgroups,
                                  plan.networkLock,
                                  networkLockName(plan.content),
                                  {putByPlugin, makeDeletedFiles, namedDirectories}});
}

}  // namespace criu::engine
