// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/device_file.hpp"
#include "criu/files/file_kind.hpp"
#include "criu/files/regular.hpp"
#include "criu/memory/memfd_file.hpp"
#include "criu/namespaces/tun_devices.hpp"
#include "criu/sockets/network_lock.hpp"

namespace criu::engine {

/// What kinds share with others of the run. A dump leaves the restore half empty, and the reverse.
struct KindResources {
    files::PathDump& paths;
    const files::PathRemaps& remaps;
    memory::SegmentsDump& dumpedSegments;
    const memory::Segments& segments;
    sockets::NetworkLock& network;
    device::DumpDevices* dumpDevices = nullptr;
    device::RestoreDevices* restoreDevices = nullptr;
    namespaces::TunDevices* tunDevices = nullptr;
};

/// All kinds of files this criu knows, in the order in which they are asked on dump: the one list that a new kind is
/// added to.
files::FileKinds makeFileKinds(const KindResources& with);

}  // namespace criu::engine
