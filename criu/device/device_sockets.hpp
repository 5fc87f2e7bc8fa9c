// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::device {
class DumpDevices;
class RestoreDevices;
}  // namespace criu::device

namespace criu::sockets {
class ExternalSocketRestore;
class ExternalSocketDump;
}  // namespace criu::sockets

/// Adapters by which device subsystems dump and restore external sockets. At present, only plugins do this.
namespace criu::engine {

/// Returns an adapter for the subsystems of a dump. `devices` must outlive it.
[[nodiscard]] std::unique_ptr<sockets::ExternalSocketDump> makeExternalSocketDump(device::DumpDevices& devices);
/// Returns an adapter for the subsystems of a restore. `devices` must outlive it.
[[nodiscard]] std::unique_ptr<sockets::ExternalSocketRestore> makeExternalSocketRestore(
    const device::RestoreDevices& devices);

}  // namespace criu::engine
