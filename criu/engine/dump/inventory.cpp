// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/inventory.hpp"

#include <string>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/captured.hpp"
#include "criu/engine/dump/examined.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/memory/memory_tracking.hpp"
#include "criu/image/checksum_list.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/net/networks_dump.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/task/cpu_info.hpp"
#include "criu/task/security_label.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

void writeCpu(const model::Options& options, const ImageDir& images) {
    images.unlink(ImageKind::Cpuinfo);
    if (options.cpuCaps.has(model::CpuCap::Image))
        task::dumpCpu(images);
}

}  // namespace

void writeInventory(const CapturedPhase& captured) {
    ExaminedPhase& examined = captured.examined();
    FrozenPhase& frozen = examined.frozen();
    writeCpu(frozen.options(), frozen.images());
    InventoryEntry entry = INVENTORY_ENTRY__INIT;
    TaskKobjIdsEntry own = TASK_KOBJ_IDS_ENTRY__INIT;
    own.vm_id = own.files_id = own.fs_id = own.sighand_id = 1;
    examined.namespaces().storeNumbersOfCriu(own);
    PluginsEntry plugins = PLUGINS_ENTRY__INIT;
    std::vector<char*> names;
    std::vector<std::string> used = frozen.devices().used();
    for (std::string& name : used)
        names.push_back(name.data());
    plugins.n_plugins = names.size();
    plugins.plugins = names.data();
    std::string runId = examined.namespaces().runId();
    std::vector<std::string> extensions = captured.extensions();
    std::vector<char*> extensionNames;
    for (std::string& name : extensions)
        extensionNames.push_back(name.data());
    entry.n_extensions = extensionNames.size();
    entry.extensions = extensionNames.data();
    entry.img_version = extensions.empty() ? static_cast<std::uint32_t>(ImageVersion::V1_1) : kExtendedVersion;
    entry.has_fdinfo_per_id = entry.fdinfo_per_id = 1;
    entry.root_ids = &own;
    entry.has_ns_per_id = entry.ns_per_id = 1;
    entry.has_root_cg_set = 1;
    entry.root_cg_set = cgroup::CgroupDump::kOwnSet;
    entry.has_lsmtype = 1;
    entry.lsmtype = static_cast<Lsmtype>(task::lsmTypeOf(examined.labelModule()));
    entry.has_network_lock_method = 1;
    entry.network_lock_method = sockets::networkLockNumber(examined.nsContext().networks->rootLock().method());
    entry.has_tcp_close = entry.tcp_close = frozen.options().tcpClose;
    entry.plugins_entry = &plugins;
    entry.dump_criu_run_id = runId.data();
    entry.has_allow_uprobes = entry.allow_uprobes = captured.sawUprobes();
    std::string trackingId = frozen.tracking().nextId();
    if (frozen.options().trackMemory) {
        entry.has_dump_uptime = 1;
        entry.dump_uptime = frozen.tracking().uptime();
    }
    if (!trackingId.empty())
        entry.tracking_id = trackingId.data();
    completeImages(frozen.images(), entry, [&frozen] { frozen.stop().throwIfRequested(); });
}

}  // namespace criu::engine
